import { listSnapshots } from '../../snapshot/list-snapshots.ts'
import { parseSource } from '../../snapshot/source.ts'
import type { CommandRun } from '../command.ts'
import { textFlags } from '../command.ts'
import { snapshotDocument, snapshotLine } from '../describe-snapshot.ts'
import { exitCodes } from '../exit-codes.ts'
import { parseTags } from '../tags.ts'
import { withRepository } from '../with-repository.ts'

/** `list [SOURCE]`: a line for each snapshot. */
export const list: CommandRun = context =>
  withRepository(context, { readOnly: true, tolerant: true }, async repository => {
    const { args, flags, output, surroundings } = context
    const [source] = args
    const { host, userName, path } = source === undefined ? everything : parseSource(source, surroundings)
    const { snapshots, unreadable } = await listSnapshots(repository.manifests, {
      ...(host !== '' && { host }),
      ...(userName !== '' && { userName }),
      ...(path !== '' && { path }),
      tags: parseTags(textFlags(flags, 'tag')),
      signal: surroundings.signal,
    })
    for (const snapshot of snapshots) await output.row(snapshotDocument(snapshot), snapshotLine(snapshot))
    for (const { id, error } of unreadable)
      output.note(`snapshot ${id} cannot be understood: ${(error as Error).message}`)
    for (const error of repository.manifests.damaged) output.note(error.message)
    return unreadable.length + repository.manifests.damaged.length > 0
      ? exitCodes.damaged.code
      : exitCodes.ok.code
  })

const everything = { host: '', userName: '', path: '' }
