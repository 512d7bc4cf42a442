import { blobId } from '../../blob/storage.ts'
import { decryptBlob } from '../../format/blob-crypto.ts'
import { parseIndex } from '../../index-format/pack-index.ts'
import type { Repository } from '../../repository.ts'
import type { CommandContext, CommandRun } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { printTime } from '../printable.ts'
import { withRepository } from '../with-repository.ts'
import { indexEntryLine } from './content-show.ts'

/** The prefixes of index blobs: written by sessions, one epoch, a range of epochs, and of format 1. */
const indexPrefixes = ['xn', 'xs', 'xr', 'n'] as const

/** `index show [BLOB]`: the entries of an index blob, or a line for each index blob. */
export const indexShow: CommandRun = context =>
  withRepository(context, { readOnly: true }, async repository => {
    const [name] = context.args
    await (name === undefined ? listIndexes(context, repository) : showIndex(context, repository, name))
    return exitCodes.ok.code
  })

async function listIndexes({ output, surroundings }: CommandContext, { storage }: Repository): Promise<void> {
  for (const prefix of indexPrefixes) {
    for await (const blob of storage.list(prefix, { signal: surroundings.signal })) {
      await output.row(blob, `${blob.id}  ${blob.length}  ${printTime(blob.timestamp)}`)
    }
  }
}

async function showIndex(context: CommandContext, repository: Repository, name: string): Promise<void> {
  const { output, surroundings } = context
  const sealed = await repository.storage.get(blobId(name), { signal: surroundings.signal })
  for (const entry of parseIndex(decryptBlob(name, sealed, repository.crypto)).entries()) {
    await output.row(entry, indexEntryLine(entry))
  }
}
