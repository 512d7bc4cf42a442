import { blobId } from '../../blob/storage.ts'
import { type CommandRun, textFlag } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { printTime } from '../printable.ts'
import { withStorage } from '../with-repository.ts'

/** `blob show [BLOB]`: the bytes of a blob as they are stored, or a line for each. Needs no password. */
export const blobShow: CommandRun = context =>
  withStorage(context, async storage => {
    const { args, flags, output, surroundings } = context
    const { signal } = surroundings
    const [name] = args
    if (name !== undefined) {
      await output.bytes(await storage.get(blobId(name), { signal }))
      return exitCodes.ok.code
    }
    for await (const blob of storage.list(textFlag(flags, 'prefix') ?? '', { signal })) {
      await output.row(blob, `${blob.id}  ${blob.length}  ${printTime(blob.timestamp)}`)
    }
    return exitCodes.ok.code
  })
