import { recoverPackIndex } from '../pack/recover-pack-index.ts'
import type { VerifiedRepository } from './verified-repository.ts'
import { isFinding, type VerifyReport } from './verify-report.ts'

/** A pack whose end is to be checked. */
export interface PackTail {
  packBlobId: string
  length: number
  read: (offset: number, length: number) => Promise<Uint8Array>
  report: VerifyReport
}

/**
 * Checks that a pack still carries the index of itself, from which lost index blobs are rebuilt. A damaged one harms no
 * snapshot today. Throws what the storage throws when it fails for other reasons.
 */
export async function verifyPackTail({ crypto }: VerifiedRepository, pack: PackTail): Promise<void> {
  try {
    await recoverPackIndex(pack, crypto.encryption)
  } catch (error) {
    if (!isFinding(error)) throw error
    pack.report.add({ what: 'blob', blobId: pack.packBlobId, error })
  }
}
