import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import { type Backup, BackupKind, readObject } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import { isObjectStoreError, type ObjectBody, ObjectStoreError } from '@lateen/plugin'
import type { BackupFile, RestoreFile } from './bucket-layout.ts'
import type { OpenLocation } from './open-location.ts'
import { repeated } from './repeated.ts'

/** The bytes of a file: at hand, or opened anew for each attempt to store them. */
export type FileBody = Uint8Array | (() => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>)

/** A file of a backup or a restore in the bucket. */
export type StoredFile =
  | { of: 'backup'; name: string; file: BackupFile }
  | { of: 'restore'; name: string; file: RestoreFile }

/** JSON in the bucket is read into memory; a longer one is taken for damaged. */
export const longestJson = 1 << 30

export interface BackupStoreOptions {
  location: OpenLocation
  clock: Clock
  random: () => number
}

/**
 * The files of backups in one location.
 *
 * A backup exists for others once it has `velero-backup.json`, so that is put last and deleted first: whoever dies in
 * between leaves files that nobody takes for a backup. Every put is repeated a few times while the store says that
 * this may help. Everything throws `ObjectStoreError`, or the signal's reason.
 */
export interface BackupStore {
  put(file: StoredFile, body: FileBody, signal?: AbortSignal): Promise<void>
  /** Stores a value as compressed JSON. */
  putJson(file: StoredFile, value: unknown, signal?: AbortSignal): Promise<void>
  /** Undefined when there is no such file. The caller reads the stream to its end or destroys it. */
  get(file: StoredFile, signal?: AbortSignal): Promise<Readable | undefined>
  /** Undefined when there is no such file. Throws STORE_FAULT for one that is damaged. */
  getJson(file: StoredFile, signal?: AbortSignal): Promise<unknown>
  /** Makes the backup visible. Everything else of it must be stored. */
  putMetadata(backup: Backup, signal?: AbortSignal): Promise<void>
  getMetadata(name: string, signal?: AbortSignal): Promise<Backup | undefined>
  /** Whether anything at all is stored under this name, also what a half-written backup left. */
  hasAny(name: string, signal?: AbortSignal): Promise<boolean>
  /** Names with anything stored, whole backups and others, in order. */
  names(signal?: AbortSignal): AsyncIterable<string>
  /** Deletes everything under the name, `velero-backup.json` first. May be repeated after it failed. */
  deleteBackup(name: string, signal?: AbortSignal): Promise<void>
  /** Deletes the files of a restore. May be repeated after it failed. */
  deleteRestore(name: string, signal?: AbortSignal): Promise<void>
  /** A link that anyone may GET for some time. Says nothing about existence. */
  signedUrl(file: StoredFile, ttlSeconds: number, signal?: AbortSignal): Promise<string>
}

const compress = promisify(gzip)

export function createBackupStore(options: BackupStoreOptions): BackupStore {
  const { store, bucket, layout } = options.location
  const at = (key: string, signal: AbortSignal | undefined) => ({ bucket, key, ...(signal && { signal }) })
  const keyOf = (file: StoredFile) =>
    file.of === 'backup' ? layout.backupKey(file.name, file.file) : layout.restoreKey(file.name, file.file)

  const put = (key: string, body: FileBody, signal?: AbortSignal) =>
    repeated(options, signal, async () => store.putObject({ ...at(key, signal), body: await bodyOf(body) }))

  async function get(key: string, signal?: AbortSignal): Promise<Readable | undefined> {
    try {
      return await repeated(options, signal, () => store.getObject(at(key, signal)))
    } catch (error) {
      if (isObjectStoreError(error, 'NOT_FOUND')) return undefined
      throw error
    }
  }

  const deleteKey = (key: string, signal?: AbortSignal) =>
    repeated(options, signal, () => store.deleteObject(at(key, signal)))

  const list = (prefix: string, signal?: AbortSignal) =>
    store.listObjects({ bucket, prefix, ...(signal && { signal }) })

  return {
    put: (file, body, signal) => put(keyOf(file), body, signal),
    async putJson(file, value, signal) {
      await put(keyOf(file), await compress(JSON.stringify(value)), signal)
    },
    get: (file, signal) => get(keyOf(file), signal),
    async getJson(file, signal) {
      const key = keyOf(file)
      const stored = await get(key, signal)
      return stored && parseJson(key, await readAll(key, { stored, compressed: true, signal }))
    },
    async putMetadata(backup, signal) {
      const key = layout.backupKey(backup.metadata.name ?? '', 'metadata')
      await put(key, Buffer.from(`${JSON.stringify(backup)}\n`), signal)
    },
    async getMetadata(name, signal) {
      const key = layout.backupKey(name, 'metadata')
      const stored = await get(key, signal)
      if (stored === undefined) return undefined
      return backupIn(key, parseJson(key, await readAll(key, { stored, compressed: false, signal })))
    },
    async hasAny(name, signal) {
      for await (const _key of list(layout.backupFolder(name), signal)) return true
      return false
    },
    async *names(signal) {
      const prefix = layout.folder('backups')
      const folders = store.listCommonPrefixes({ bucket, prefix, delimiter: '/', ...(signal && { signal }) })
      for await (const folder of folders) {
        const name = layout.backupOfFolder(folder)
        if (name !== undefined) yield name
      }
    },
    async deleteBackup(name, signal) {
      await deleteKey(layout.backupKey(name, 'metadata'), signal)
      for await (const key of list(layout.backupFolder(name), signal)) await deleteKey(key, signal)
    },
    async deleteRestore(name, signal) {
      for await (const key of list(layout.restoreFolder(name), signal)) await deleteKey(key, signal)
    },
    signedUrl: (file, ttlSeconds, signal) =>
      store.createSignedUrl({ ...at(keyOf(file), signal), ttlSeconds }),
  }
}

async function bodyOf(body: FileBody): Promise<ObjectBody> {
  return typeof body === 'function' ? body() : body
}

interface Reading {
  stored: Readable
  compressed: boolean
  signal: AbortSignal | undefined
}

async function readAll(key: string, { stored, compressed, signal }: Reading): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  const collect = async (source: AsyncIterable<Buffer>) => {
    for await (const piece of source) {
      length += piece.length
      if (length > longestJson) throw damaged(key, `is longer than ${longestJson} bytes`)
      pieces.push(piece)
    }
  }
  try {
    const ending = signal === undefined ? {} : { signal }
    if (compressed) await pipeline(stored, createGunzip(), collect, ending)
    else await pipeline(stored, collect, ending)
  } catch (error) {
    signal?.throwIfAborted()
    throw isObjectStoreError(error) ? error : damaged(key, 'cannot be decompressed', error)
  }
  return Buffer.concat(pieces).toString()
}

function parseJson(key: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw damaged(key, 'is not JSON', cause)
  }
}

function backupIn(key: string, value: unknown): Backup {
  const read = readObject(BackupKind, value)
  if (read.ok) return read.object
  const problems = read.problems.map(({ path, reason }) => `${path} ${reason}`).join('; ')
  throw damaged(key, `is not a backup: ${problems}`)
}

function damaged(key: string, what: string, cause?: unknown): ObjectStoreError {
  return new ObjectStoreError('STORE_FAULT', {
    reason: `the object ${key} ${what}`,
    hint: 'It was damaged or not written by a backup; restore it from a copy of the bucket or delete it',
    retryable: false,
    cause,
  })
}
