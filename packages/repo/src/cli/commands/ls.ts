import { formatEntryPath } from '../../snapshot/entry-name.ts'
import { walkSnapshot } from '../../snapshot/walk-snapshot.ts'
import type { CommandRun } from '../command.ts'
import { entryDocument, entryLine } from '../describe-snapshot.ts'
import { exitCodes } from '../exit-codes.ts'
import { namedEntry } from '../snapshot-path.ts'
import { withRepository } from '../with-repository.ts'

/** `ls SNAPSHOT[/PATH]`: a line for each entry of a folder, or for the file itself. */
export const ls: CommandRun = context =>
  withRepository(context, { readOnly: true }, async repository => {
    const { args, flags, output, surroundings } = context
    const { signal } = surroundings
    const { entry: root } = await namedEntry(repository, args[0] ?? '', signal)
    const long = flags.long === true
    const skip = (entry: unknown) => flags.recursive !== true && entry !== root
    for await (const { entry, path, depth } of walkSnapshot(repository.contents, root, { signal, skip })) {
      if (depth === 0 && root.type === 'd') continue
      const name = depth === 0 ? entry.name : formatEntryPath(path)
      await output.row(entryDocument(entry, name), entryLine(entry, name, { long }))
    }
    return exitCodes.ok.code
  })
