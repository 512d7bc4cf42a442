import path from 'node:path'
import { Spool } from '../../scratch/spool.ts'
import { SpoolReader } from '../../scratch/spool-reader.ts'
import { ArchiveError } from './archive-error.ts'
import { ArchiveIntake } from './archive-intake.ts'
import { type ArchiveLimits, defaultArchiveLimits } from './archive-limits.ts'
import type { BackupArchive } from './backup-archive.ts'
import { Catalogue } from './catalogue.ts'
import { decompress } from './decompress.ts'
import { TarParser } from './tar-parser.ts'

/** What `openBackupArchive` works with. */
export interface OpenArchiveOptions {
  /** The tar.gz, from its beginning. Read to its end, or given up early. */
  stream: AsyncIterable<Uint8Array>
  /** A folder that exists and that only this restore uses. */
  scratch: string
  /** Those that are not given are the default ones. */
  limits?: Partial<ArchiveLimits>
  signal: AbortSignal
}

/**
 * Reads the archive of a backup, ours or Velero's, in one pass. Entries are keys and never paths on a disk. Needs scratch
 * for the JSON of all objects and memory for their names.
 * Throws ArchiveError for anything that is not the complete archive of a backup, ScratchError, what the stream throws, and the
 * signal's reason.
 */
export async function openBackupArchive(options: OpenArchiveOptions): Promise<BackupArchive> {
  const { stream, scratch, signal } = options
  const limits = { ...defaultArchiveLimits, ...options.limits }
  await using undo = new AsyncDisposableStack()
  const spool = undo.use(await Spool.create(path.join(scratch, 'archive-bodies')))
  const catalogue = new Catalogue()
  const intake = new ArchiveIntake({ spool, catalogue, limits })
  const parser = new TarParser(intake)
  for await (const chunk of decompress({ stream, limits, signal })) {
    parser.push(chunk)
    await spool.ready()
  }
  parser.finish()
  const { formatVersion, ignored } = intake
  if (formatVersion === undefined) {
    throw new ArchiveError('ARCHIVE_NOT_BACKUP', 'it has no entry "metadata/version"')
  }
  catalogue.arrange()
  await spool.flush()
  const opened = undo.move()
  return archiveOf({ catalogue, spool, formatVersion, ignored, dispose: () => opened.disposeAsync() })
}

interface OpenedArchive extends Pick<BackupArchive, 'formatVersion' | 'ignored'> {
  catalogue: Catalogue
  spool: Spool
  dispose: () => Promise<void>
}

function archiveOf({ catalogue, spool, formatVersion, ignored, dispose }: OpenedArchive): BackupArchive {
  const reader = new SpoolReader([spool])
  const types = catalogue.types()
  return {
    formatVersion,
    ignored,
    types,
    count: types.reduce((sum, { count }) => sum + count, 0),
    namespaces: catalogue.namespaces(),
    items: (type, version) => catalogue.items(type, version),
    find: item => catalogue.find(item),
    load: item => reader.read({ file: 0, ...catalogue.placeOf(item) }),
    [Symbol.asyncDispose]: dispose,
  }
}
