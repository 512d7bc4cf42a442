import type { UploadProgress } from '../../snapshot/progress.ts'
import type { SnapshotManifest } from '../../snapshot/snapshot-manifest.ts'
import { parseSource } from '../../snapshot/source.ts'
import { type CommandContext, type CommandRun, textFlag, textFlags } from '../command.ts'
import { snapshotDocument } from '../describe-snapshot.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-flag.ts'
import { printable, printBytes } from '../printable.ts'
import { parseTags } from '../tags.ts'
import { withProgress } from '../with-progress.ts'
import { withRepository } from '../with-repository.ts'

const load = () => import('../../snapshot/upload-tree.ts')

/** `snapshot PATH`: stores what has changed since the last snapshot of the same source. */
export const snapshot: CommandRun = context => {
  const options = uploadOptions(context)
  const [path = ''] = context.args
  return withRepository(context, { load }, async repository => {
    const { uploadTree } = await load()
    const { signal } = context.surroundings
    const result = await withProgress(context, show =>
      repository.writing({ signal }, writer =>
        uploadTree(writer, path, { ...options, signal, onProgress: progress => show(shown(progress)) }),
      ),
    )
    report(context, result.snapshot)
    await context.output.document({ ...snapshotDocument(result.snapshot), stats: result.snapshot.stats }, [
      resultLine(result),
    ])
    return result.progress.errors > 0 ? exitCodes.partial.code : exitCodes.ok.code
  })
}

function uploadOptions({ args, flags, surroundings }: CommandContext) {
  const description = textFlag(flags, 'description')
  const parallel = wholeNumber('parallel', textFlag(flags, 'parallel'))
  return {
    source: parseSource(textFlag(flags, 'source') ?? args[0] ?? '', surroundings),
    tags: parseTags(textFlags(flags, 'tag')),
    rereadAll: flags['force-full'] === true,
    failFast: flags['fail-fast'] === true,
    ...(description !== undefined && { description }),
    ...(parallel !== undefined && { parallel }),
  }
}

function shown(progress: UploadProgress) {
  return {
    what: 'read',
    bytes: progress.bytesRead + progress.bytesCached,
    totalBytes: progress.totalBytes,
    files: progress.filesRead + progress.filesCached,
    cachedFiles: progress.filesCached,
  }
}

function report({ output }: CommandContext, { rootEntry }: SnapshotManifest): void {
  for (const { path, error } of rootEntry.summary?.errors ?? []) {
    output.note(`${printable(path)}: ${printable(error)}`)
  }
}

function resultLine({
  snapshot: { id },
  progress,
}: {
  snapshot: SnapshotManifest
  progress: UploadProgress
}): string {
  const { filesRead, filesCached, bytesRead, errors } = progress
  const failed = errors > 0 ? `, ${errors} not stored` : ''
  return `snapshot ${id}: ${filesRead + filesCached} files, ${filesCached} unchanged, ${printBytes(bytesRead)} read${failed}`
}
