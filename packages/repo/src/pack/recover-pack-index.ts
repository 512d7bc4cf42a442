import type { ContentEncryption } from '../encryption/content-encryption.ts'
import { corrupt, isRepoError, RepoError } from '../errors/repo-error.ts'
import { type PackIndex, parseIndex } from '../index-format/pack-index.ts'
import { longestPostamble, parsePostamble } from './pack-postamble.ts'

/** A pack in some storage. */
export interface PackToRecover {
  packBlobId: string
  length: number
  /** Reads a range of the pack. */
  read: (offset: number, length: number) => Promise<Uint8Array>
}

// One read covers the postamble and the index of most packs.
const firstRead = 8192

/**
 * Reads the index that a pack carries of itself: the way back when index blobs are lost. It may hold deletions that
 * point to other packs. Throws `CORRUPT`, naming the pack, when the pack is damaged or cut short.
 */
export async function recoverPackIndex(
  pack: PackToRecover,
  encryption: ContentEncryption,
): Promise<PackIndex> {
  try {
    const tailLength = Math.min(pack.length, Math.max(firstRead, longestPostamble))
    const tailOffset = pack.length - tailLength
    const tail = await pack.read(tailOffset, tailLength)
    const { iv, localIndexOffset, localIndexLength, length } = parsePostamble(tail)
    if (localIndexOffset + localIndexLength > pack.length - length)
      throw corrupt('The local index lies outside the pack')
    const sealed =
      localIndexOffset >= tailOffset
        ? tail.subarray(localIndexOffset - tailOffset, localIndexOffset - tailOffset + localIndexLength)
        : await pack.read(localIndexOffset, localIndexLength)
    return parseIndex(encryption.decrypt(sealed, iv), { encryptionOverhead: encryption.overhead })
  } catch (cause) {
    if (!isRepoError(cause, 'CORRUPT')) throw cause
    throw new RepoError('CORRUPT', {
      message: `The index inside the pack ${pack.packBlobId} cannot be read: ${cause.message}`,
      hint: 'The pack is damaged or was not written completely; its contents can be found only through index blobs.',
      blobId: pack.packBlobId,
      cause,
    })
  }
}
