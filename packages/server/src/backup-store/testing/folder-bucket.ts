import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { systemClock } from '@lateen/kube'
import { FilesystemStore } from '../../object-store/filesystem.ts'
import { createSignedDownloads } from '../../object-store/signed-downloads.ts'
import { type BackupStore, createBackupStore } from '../backup-store.ts'
import { bucketLayout } from '../bucket-layout.ts'

/** A bucket for a test, which is a folder that goes with it. */
export interface FolderBucket {
  /** Holds the bucket `bucket`. */
  readonly folder: string
  readonly files: FilesystemStore
  readonly store: BackupStore
}

export async function folderBucket(t: TestContext): Promise<FolderBucket> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bucket-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(path.join(folder, 'bucket'))
  let names = 0
  const downloads = createSignedDownloads({
    ...{ signingKey: Buffer.alloc(32), clock: systemClock },
    publicUrl: () => 'http://unused.invalid',
  })
  const randomName = () => `unfinished-${names++}`
  const files = new FilesystemStore({ clock: systemClock, randomName, downloads })
  await files.init({ config: { path: folder, bucket: 'bucket', prefix: '' } })
  const place = { store: files, bucket: 'bucket', layout: bucketLayout(''), accessMode: 'ReadWrite' } as const
  const location = { ...place, [Symbol.asyncDispose]: async () => undefined }
  return { folder, files, store: createBackupStore({ location, clock: systemClock, random: () => 0.5 }) }
}
