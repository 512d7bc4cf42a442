import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Backup, BackupKind, readObject } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import { isObjectStoreError, type ObjectBody } from '@lateen/plugin'
import type { BackupFile, JournalOwner, NameClaim, RestoreFile } from './bucket-layout.ts'
import type { OpenLocation } from './open-location.ts'
import { repeated } from './repeated.ts'
import { damaged, defaultJsonLimits, objectLimits, readStoredJson, volumesLimits } from './stored-json.ts'

/** The bytes of a file: at hand, or opened anew for each attempt to store them. */
export type FileBody = Uint8Array | (() => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>)

/** A file of a backup or a restore in the bucket. */
export type StoredFile =
  | { of: 'backup'; name: string; file: BackupFile }
  | { of: 'restore'; name: string; file: RestoreFile }

/** A part of a journal of operations. */
export interface JournalSegment {
  owner: JournalOwner
  /** From 1. */
  number: number
}

export interface BackupStoreOptions {
  location: OpenLocation
  clock: Clock
  random: () => number
}

/**
 * The files of backups in one location.
 *
 * A backup exists for others once it has `velero-backup.json`, so that is put last and deleted first: whoever dies in
 * between leaves files that nobody takes for a backup. Puts, gets, deletes and the question whether a name is free are
 * repeated a few times while the store says that this may help. Everything throws `ObjectStoreError`, or the signal's reason.
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
  /** Says in the bucket who takes a backup of the name. */
  putClaim(claim: NameClaim, signal?: AbortSignal): Promise<void>
  /** May be repeated after it failed. */
  deleteClaim(claim: NameClaim, signal?: AbortSignal): Promise<void>
  /** Whether anything is stored under the name but this claim: files and claims, or only claims. */
  hasBeside(claim: NameClaim, what: 'anything' | 'claims', signal?: AbortSignal): Promise<boolean>
  /** Names with anything stored, whole backups and others, in order. */
  names(signal?: AbortSignal): AsyncIterable<string>
  /** Deletes everything under the name, `velero-backup.json` first. May be repeated after it failed. */
  deleteBackup(name: string, signal?: AbortSignal): Promise<void>
  /** Deletes the files of a restore. May be repeated after it failed. */
  deleteRestore(name: string, signal?: AbortSignal): Promise<void>
  /** Stores a part of a journal. Parts count from 1, and each is written once. */
  putSegment(segment: JournalSegment, value: unknown, signal?: AbortSignal): Promise<void>
  /** What the parts of a journal hold, in order. Parts that are damaged throw STORE_FAULT. */
  segments(owner: JournalOwner, signal?: AbortSignal): AsyncIterable<unknown>
  /** Deletes a journal. May be repeated after it failed. */
  deleteSegments(owner: JournalOwner, signal?: AbortSignal): Promise<void>
  /** A link that anyone may GET for some time. Says nothing about existence. */
  signedUrl(file: StoredFile, ttlSeconds: number, signal?: AbortSignal): Promise<string>
}

const compress = promisify(gzip)

/** A journal has many small parts. */
const deletesAtOnce = 8

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
      return stored && readStoredJson({ key, stored, compressed: true, limits: limitsOf(file), signal })
    },
    async putMetadata(backup, signal) {
      const key = layout.backupKey(backup.metadata.name ?? '', 'metadata')
      await put(key, Buffer.from(`${JSON.stringify(backup)}\n`), signal)
    },
    async getMetadata(name, signal) {
      const key = layout.backupKey(name, 'metadata')
      const stored = await get(key, signal)
      if (stored === undefined) return undefined
      return backupIn(
        key,
        await readStoredJson({ key, stored, compressed: false, limits: objectLimits, signal }),
      )
    },
    hasAny: (name, signal) =>
      repeated(options, signal, async () => {
        for await (const _key of list(layout.backupFolder(name), signal)) return true
        return false
      }),
    async putClaim(claim, signal) {
      await put(layout.claimKey(claim), Buffer.from('{}'), signal)
    },
    deleteClaim: (claim, signal) => deleteKey(layout.claimKey(claim), signal),
    hasBeside: (claim, what, signal) =>
      repeated(options, signal, async () => {
        const { name } = claim
        const folder = what === 'claims' ? layout.claimFolder(name) : layout.backupFolder(name)
        const own = layout.claimKey(claim)
        for await (const key of list(folder, signal)) if (key !== own && !isFolderOf(own, key)) return true
        return false
      }),
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
      // Some stores have folders, list them as keys, and delete none with something in it.
      const keys = (await Array.fromAsync(list(layout.backupFolder(name), signal))).sort()
      for (const key of keys.reverse()) await deleteKey(key, signal)
    },
    async deleteRestore(name, signal) {
      for await (const key of list(layout.restoreFolder(name), signal)) await deleteKey(key, signal)
    },
    async putSegment({ owner, number }, value, signal) {
      await put(layout.journalKey(owner, number), Buffer.from(JSON.stringify(value)), signal)
    },
    async *segments(owner, signal) {
      const keys = await Array.fromAsync(list(layout.journalFolder(owner), signal))
      for (const key of keys.sort((a, b) => (a < b ? -1 : 1))) {
        const stored = await get(key, signal)
        if (stored === undefined) continue
        yield await readStoredJson({ key, stored, compressed: false, limits: defaultJsonLimits, signal })
      }
    },
    async deleteSegments(owner, signal) {
      const keys = await Array.fromAsync(list(layout.journalFolder(owner), signal))
      const deleteOn = async () => {
        for (let key = keys.pop(); key !== undefined; key = keys.pop()) await deleteKey(key, signal)
      }
      await Promise.all(Array.from({ length: deletesAtOnce }, deleteOn))
    },
    signedUrl: (file, ttlSeconds, signal) =>
      store.createSignedUrl({ ...at(keyOf(file), signal), ttlSeconds }),
  }
}

/** Some stores have folders, and list them as keys: those that a claim is in came with it, or with an earlier one, and say nothing. */
function isFolderOf(key: string, listed: string): boolean {
  return key.startsWith(listed.endsWith('/') ? listed : `${listed}/`)
}

async function bodyOf(body: FileBody): Promise<ObjectBody> {
  return typeof body === 'function' ? body() : body
}

function limitsOf({ file }: StoredFile) {
  return file === 'podVolumeBackups' ? volumesLimits : defaultJsonLimits
}

function backupIn(key: string, value: unknown): Backup {
  const read = readObject(BackupKind, value)
  if (read.ok) return read.object
  const problems = read.problems.map(({ path, reason }) => `${path} ${reason}`).join('; ')
  throw damaged(key, `is not a backup: ${problems}`)
}
