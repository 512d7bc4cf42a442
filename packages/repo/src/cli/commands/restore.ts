import path from 'node:path'
import type { Repository } from '../../repository.ts'
import type { RestoreProgress, RestoreResult } from '../../snapshot/restore-report.ts'
import { type CommandContext, type CommandRun, textFlag } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-flag.ts'
import { printable, printBytes } from '../printable.ts'
import type { NamedEntry } from '../snapshot-path.ts'
import { withProgress } from '../with-progress.ts'
import { withRepository } from '../with-repository.ts'

const loadNames = () => import('../snapshot-path.ts')
const loadTar = () => import('../../snapshot/restore-to-tar.ts')
const loadTree = () => import('../../snapshot/restore-tree.ts')

/** `restore SNAPSHOT[/PATH] TARGET`; the target `-` is a tar archive on stdout. */
export const restore: CommandRun = context => {
  const [source = '', target = ''] = context.args
  const load = () => Promise.all([loadNames(), target === '-' ? loadTar() : loadTree()])
  return withRepository(context, { readOnly: true, load }, async repository => {
    const { namedEntry } = await loadNames()
    const named = await namedEntry(repository, source, context.surroundings.signal)
    if (target === '-') return toTar(context, repository, named)
    const result = await toFolder(context, repository, { ...named, target: path.resolve(target) })
    for (const { error } of result.problems) context.output.note(printable(error.message))
    for (const note of result.notes) context.output.note(printable(note))
    await context.output.document(result, [resultLine(result, target)])
    return result.failed > 0 ? exitCodes.partial.code : exitCodes.ok.code
  })
}

async function toTar(
  context: CommandContext,
  { contents }: Repository,
  { entry }: NamedEntry,
): Promise<number> {
  const { output, surroundings } = context
  const { restoreToTar } = await loadTar()
  for await (const bytes of restoreToTar({ contents, entry, signal: surroundings.signal }))
    await output.bytes(bytes)
  return exitCodes.ok.code
}

async function toFolder(
  context: CommandContext,
  { contents }: Repository,
  { entry, target }: NamedEntry & { target: string },
): Promise<RestoreResult> {
  const { flags, surroundings } = context
  const { restoreTree } = await loadTree()
  const overwrite = flags['no-overwrite'] !== true
  const parallel = wholeNumber('parallel', textFlag(flags, 'parallel'))
  return withProgress(context, show =>
    restoreTree({
      contents,
      entry,
      target,
      overwrite: { files: overwrite, symlinks: overwrite, folders: overwrite },
      deleteExtra: flags['delete-extra'] === true,
      skipUnchanged: flags['skip-unchanged'] === true,
      sparse: flags.sparse === true,
      owners: flags['skip-owners'] !== true,
      ignorePermissionErrors: true,
      ...(parallel !== undefined && { parallel }),
      signal: surroundings.signal,
      onProgress: (progress: RestoreProgress) =>
        show({
          what: 'restored',
          bytes: progress.bytes + progress.skippedBytes,
          totalBytes: progress.totalBytes,
          files: progress.files + progress.skippedFiles,
          cachedFiles: progress.skippedFiles,
        }),
    }),
  )
}

function resultLine(result: RestoreResult, target: string): string {
  const failed = result.failed > 0 ? `, ${result.failed} not restored` : ''
  const skipped = result.skippedFiles > 0 ? `, ${result.skippedFiles} left as they were` : ''
  return `restored ${result.files} files, ${printBytes(result.bytes)}${skipped}${failed} to ${printable(target)}`
}
