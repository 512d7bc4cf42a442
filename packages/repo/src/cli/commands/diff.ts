import { diffSnapshots, type EntryChange } from '../../snapshot/diff-snapshots.ts'
import { formatEntryPath } from '../../snapshot/entry-name.ts'
import type { CommandRun } from '../command.ts'
import { entryDocument } from '../describe-snapshot.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../printable.ts'
import { namedEntry } from '../snapshot-path.ts'
import { withRepository } from '../with-repository.ts'

/** `diff SNAPSHOT[/PATH] SNAPSHOT[/PATH]`: a line for each entry that was added, removed or changed. */
export const diff: CommandRun = context =>
  withRepository(context, { readOnly: true }, async repository => {
    const { args, output, surroundings } = context
    const { signal } = surroundings
    const before = (await namedEntry(repository, args[0] ?? '', signal)).entry
    const after = (await namedEntry(repository, args[1] ?? '', signal)).entry
    for await (const change of diffSnapshots(repository.contents, { before, after }, signal)) {
      await output.row(changeDocument(change), changeLine(change))
    }
    return exitCodes.ok.code
  })

function changeDocument({ kind, path, before, after, aspects }: EntryChange): Record<string, unknown> {
  const name = formatEntryPath(path)
  return {
    kind,
    path: name,
    aspects,
    before: before && entryDocument(before, name),
    after: after && entryDocument(after, name),
  }
}

/** `+`, `-` or `M`, the path, and in which respects it changed. */
export function changeLine({ kind, path, before, after, aspects }: EntryChange): string {
  const mark = { added: '+', removed: '-', modified: 'M' }[kind]
  const folder = (after ?? before)?.type === 'd' ? '/' : ''
  const respects = aspects.length > 0 ? ` (${aspects.join(', ')})` : ''
  return `${mark} ${printable(formatEntryPath(path)) || '.'}${folder}${respects}`
}
