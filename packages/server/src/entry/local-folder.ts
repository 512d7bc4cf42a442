import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { BackupStorageLocation } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import { ObjectStoreError } from '@lateen/plugin'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type BucketLayout, bucketLayout } from '../backup-store/bucket-layout.ts'
import { FilesystemStore } from '../object-store/filesystem.ts'
import { createSignedDownloads } from '../object-store/signed-downloads.ts'

/** A folder that is laid out like a bucket. */
export interface LocalFolder extends AsyncDisposable {
  readonly store: BackupStore
  readonly layout: BucketLayout
  /** Whether anything is stored under a key that begins so. */
  holds(prefix: string, signal: AbortSignal): Promise<boolean>
}

export interface LocalFolderOptions {
  clock: Clock
  /** Whether the folder is made if it is not there. */
  create: boolean
  /** Whether it must be possible to write into it. */
  accessMode: 'ReadWrite' | 'ReadOnly'
}

/** Opens a folder as a bucket. Throws ObjectStoreErrors for one that cannot be used. */
export async function openLocalFolder(
  folder: string,
  { clock, create, accessMode }: LocalFolderOptions,
): Promise<LocalFolder> {
  const bucket = path.basename(path.resolve(folder))
  const store = new FilesystemStore({
    clock,
    randomName: () => randomBytes(8).toString('hex'),
    downloads: createSignedDownloads({ signingKey: randomBytes(32), clock, publicUrl: noLinks }),
    anyFolder: true,
  })
  const parent = path.dirname(path.resolve(folder))
  const config = { path: parent, bucket, prefix: '', ...(create && { createBucket: 'true' }) }
  await store.init({ config, accessMode })
  const layout = bucketLayout('')
  const dispose = () => store[Symbol.asyncDispose]()
  const location = { store, bucket, layout, accessMode, [Symbol.asyncDispose]: dispose }
  return {
    store: createBackupStore({ location, clock, random: Math.random }),
    layout,
    async holds(prefix, signal) {
      for await (const _key of store.listObjects({ bucket, prefix, signal })) return true
      return false
    },
    [Symbol.asyncDispose]: dispose,
  }
}

function noLinks(): never {
  throw new ObjectStoreError('INVALID_CONFIG', { reason: 'a local folder has no links' })
}

/** The folder as the location that a backup names, which is there and can be used. */
export function localLocation(name: string, namespace: string): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name, namespace },
    spec: { provider: 'filesystem', objectStorage: { bucket: 'local' } },
    status: { phase: 'Available' },
  }
}

/** A folder for scratch, which is removed in the end. */
export async function temporaryFolder(): Promise<{ folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-local-'))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
