import { ManifestReader } from '../manifest/manifest-reader.ts'
import type { VerifiedRepository, VerifyOptions } from './verified-repository.ts'
import { verifyBlobs } from './verify-blobs.ts'
import { verifyContents } from './verify-contents.ts'
import { VerifyReport, type VerifyResult } from './verify-report.ts'
import { verifySnapshots } from './verify-snapshots.ts'

/**
 * Verifies a repository from the bottom to the top: every single blob can be understood; every content that an index
 * knows lies within a pack that exists; the chosen contents decrypt and have the hash they are named by; every snapshot
 * has all contents of all its files. Goes on after a finding and lists all of them, each with the blob, content, snapshot
 * and path that are known. Throws CANCELLED, and what the storage throws when it cannot be read at all.
 */
export async function verifyRepository(
  repository: VerifiedRepository,
  options: VerifyOptions = {},
): Promise<VerifyResult> {
  const report = new VerifyReport(options.onProgress)
  const { signal } = options
  const packs = await verifyBlobs(repository, report, signal)
  const bad = await verifyContents(repository, { packs, report, options })
  const manifests = new ManifestReader({ contents: repository.contents, skipDamaged: true })
  await verifySnapshots({ contents: repository.contents, manifests }, { bad, report, options })
  return report.result()
}
