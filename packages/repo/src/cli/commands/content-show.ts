import { parseContentId } from '../../index-format/content-id.ts'
import type { IndexEntry } from '../../index-format/index-entry.ts'
import type { CommandRun } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { withRepository } from '../with-repository.ts'

/** `content show [CONTENT]`: the plaintext of a content, or a line for each. */
export const contentShow: CommandRun = context =>
  withRepository(context, { readOnly: true }, async ({ contents }) => {
    const { args, flags, output, surroundings } = context
    const { signal } = surroundings
    const [id] = args
    if (id !== undefined) {
      await output.bytes(await contents.read(parseContentId(id), signal))
      return exitCodes.ok.code
    }
    for await (const entry of contents.entries({ includeDeleted: flags.deleted === true, signal })) {
      await output.row(entry, indexEntryLine(entry))
    }
    return exitCodes.ok.code
  })

/** Where a content lies, in one line. */
export function indexEntryLine(entry: IndexEntry): string {
  const { contentId, packBlobId, packOffset, packedLength, originalLength, deleted } = entry
  const place = `${packBlobId} ${packOffset}+${packedLength}`
  return `${contentId}  ${originalLength}  ${place}${deleted ? '  deleted' : ''}`
}
