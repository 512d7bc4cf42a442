import { jsonObject } from './json-object.ts'

/** Reasons of the events by which a mover tells how far it is. They are about its object, in that object's namespace. */
export const moverReasons = {
  started: 'Data-Path-Started',
  progress: 'Data-Path-Progress',
  completed: 'Data-Path-Completed',
  failed: 'Data-Path-Failed',
  canceling: 'Data-Path-Canceling',
  canceled: 'Data-Path-Canceled',
  stopped: 'Data-Path-Stopped',
} as const

/** What the last words of a mover end with that was cancelled. */
export const canceledWords = 'data path is canceled'

/** Where a mover found the volume. */
export interface AccessPoint {
  readonly byPath: string
  readonly volumeMode: 'Filesystem' | 'Block'
}

/** What a mover that backed up says last. */
export interface BackupWords {
  readonly snapshotID: string
  readonly emptySnapshot: boolean
  readonly source: AccessPoint
  readonly totalBytes?: number
  readonly incrementalBytes?: number
}

/** What a mover that restored says last. */
export interface RestoreWords {
  readonly target: AccessPoint
  readonly totalBytes?: number
}

/** How far a mover is, in its own words; objects say `bytesDone`. */
export interface ProgressWords {
  readonly totalBytes?: number
  readonly doneBytes?: number
}

/** The text of words: numbers that are 0 are left out, as Go does. */
export function serializeWords(words: BackupWords | RestoreWords | ProgressWords): string {
  return JSON.stringify(words, (_, value: unknown) => (value === 0 ? undefined : value))
}

/** What is said of a failure, by a mover last of all: what happened and what to do about it. */
export function failureWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : ''
  if (hint === '' || error.message.includes(hint)) return error.message
  return `${error.message}. ${hint.charAt(0).toUpperCase()}${hint.slice(1).replace(/\.$/, '')}`
}

/** Undefined for a text that tells no result of a backup. */
export function parseBackupWords(text: string): BackupWords | undefined {
  const words = jsonObject(text)
  if (typeof words?.snapshotID !== 'string') return undefined
  return {
    snapshotID: words.snapshotID,
    emptySnapshot: words.emptySnapshot === true,
    source: accessPoint(words.source),
    totalBytes: count(words.totalBytes),
    incrementalBytes: count(words.incrementalBytes),
  }
}

/** Undefined for a text that tells no result of a restore. */
export function parseRestoreWords(text: string): RestoreWords | undefined {
  const words = jsonObject(text)
  if (typeof words?.target !== 'object' || words.target === null) return undefined
  return { target: accessPoint(words.target), totalBytes: count(words.totalBytes) }
}

/** Undefined for a text that tells no progress. */
export function parseProgressWords(text: string): Required<ProgressWords> | undefined {
  const words = jsonObject(text)
  return words && { totalBytes: count(words.totalBytes), doneBytes: count(words.doneBytes) }
}

function accessPoint(value: unknown): AccessPoint {
  const { byPath, volumeMode } = (value ?? {}) as { byPath?: unknown; volumeMode?: unknown }
  return {
    byPath: typeof byPath === 'string' ? byPath : '',
    volumeMode: volumeMode === 'Block' ? 'Block' : 'Filesystem',
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
