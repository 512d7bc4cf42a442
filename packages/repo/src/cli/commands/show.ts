import type { CommandRun } from '../command.ts'
import { snapshotDocument } from '../describe-snapshot.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../printable.ts'
import { namedEntry } from '../snapshot-path.ts'
import { usageError } from '../usage-error.ts'
import { withRepository } from '../with-repository.ts'

/**
 * `show SNAPSHOT/PATH`: the bytes of a file or the target of a symlink; `show SNAPSHOT`: what its manifest
 * says.
 */
export const show: CommandRun = context =>
  withRepository(context, { readOnly: true }, async repository => {
    const { args, output, surroundings } = context
    const { signal } = surroundings
    const { snapshot, entry, path } = await namedEntry(repository, args[0] ?? '', signal)
    if (path === '') {
      const document = snapshotDocument(snapshot)
      await output.document(document, Object.entries(document).map(fieldLine))
      return exitCodes.ok.code
    }
    if (entry.type === 'd') throw usageError(`${path} is a folder`, 'list it with ls')
    const object = await repository.objects.open(entry.obj, signal)
    for await (const bytes of object.stream({ signal })) await output.bytes(bytes)
    return exitCodes.ok.code
  })

function fieldLine([name, value]: [string, unknown]): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value ?? '-')
  return `${`${name}:`.padEnd(12)} ${printable(text)}`
}
