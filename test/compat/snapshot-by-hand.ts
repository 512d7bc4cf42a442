/** A snapshot made with nothing but objects and a manifest: what a test needs where the uploader is not the subject. */
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import path from 'node:path'
import type { ManifestId } from '../../packages/repo/src/manifest/manifest-store.ts'
import type { RepositoryWriter } from '../../packages/repo/src/repository.ts'
import {
  type DirectoryEntry,
  type DirectorySummary,
  serializeDirectory,
  sortEntries,
} from '../../packages/repo/src/snapshot/directory.ts'
import { goModeFromUnix } from '../../packages/repo/src/snapshot/go-file-mode.ts'
import {
  emptyStats,
  snapshotLabels,
  snapshotPayload,
} from '../../packages/repo/src/snapshot/snapshot-manifest.ts'
import { storeFile } from './source-tree.ts'

/** Stores a folder and the manifest of a snapshot of it, by `tester` at `testhost`. */
export async function snapshotByHand(writer: RepositoryWriter, folder: string): Promise<ManifestId> {
  const rootEntry = await storeFolder(writer, folder, path.basename(folder))
  const now = BigInt(Date.now()) * 1_000_000n
  const manifest = {
    id: '',
    source: { host: 'testhost', userName: 'tester', path: folder },
    description: '',
    startTime: now,
    endTime: now,
    stats: emptyStats(),
    rootEntry,
    tags: {},
    pins: [],
  }
  return writer.manifests.put(snapshotLabels(manifest), snapshotPayload(manifest))
}

async function storeFolder(writer: RepositoryWriter, folder: string, name: string): Promise<DirectoryEntry> {
  const entries: DirectoryEntry[] = []
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name)
    if (entry.isDirectory()) entries.push(await storeFolder(writer, full, entry.name))
    else if (entry.isSymbolicLink()) {
      const target = Buffer.from(await readlink(full))
      entries.push(
        await entryOf(full, { type: 's', obj: await writer.objects.put(target), size: target.length }),
      )
    } else {
      const bytes = await readFile(full)
      entries.push(
        await entryOf(full, { type: 'f', obj: await storeFile(writer, bytes), size: bytes.length }),
      )
    }
  }
  const summary = summarize(entries)
  const directory = serializeDirectory({ entries: sortEntries(entries), summary })
  const obj = await writer.objects.put(directory, { prefix: 'k', compressor: 'zstd-fastest' })
  return { ...(await entryOf(folder, { type: 'd', obj, size: 0 })), name, summary }
}

async function entryOf(
  full: string,
  stored: Pick<DirectoryEntry, 'type' | 'obj' | 'size'>,
): Promise<DirectoryEntry> {
  const { mode, mtimeNs: mtime, uid, gid } = await lstat(full, { bigint: true })
  return {
    name: path.basename(full),
    mode: goModeFromUnix(Number(mode) & 0o7777),
    mtime,
    uid: Number(uid),
    gid: Number(gid),
    ...stored,
  }
}

function summarize(entries: readonly DirectoryEntry[]): DirectorySummary {
  const total: DirectorySummary = {
    size: 0,
    files: 0,
    symlinks: 0,
    dirs: 1,
    maxTime: 0n,
    numFailed: 0,
    numIgnoredErrors: 0,
    errors: [],
  }
  for (const { type, size, mtime, summary } of entries) {
    total.size += summary?.size ?? (type === 'f' ? size : 0)
    total.files += summary?.files ?? (type === 'f' ? 1 : 0)
    total.symlinks += summary?.symlinks ?? (type === 's' ? 1 : 0)
    total.dirs += summary?.dirs ?? 0
    const latest = summary?.maxTime ?? mtime
    if (latest > total.maxTime) total.maxTime = latest
  }
  return total
}
