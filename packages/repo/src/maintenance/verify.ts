import { ManifestReader } from '../manifest/manifest-reader.ts'
import { UsedContents } from './used-contents.ts'
import type { VerifiedRepository, VerifyOptions } from './verified-repository.ts'
import { verifyBlobs } from './verify-blobs.ts'
import { verifyContents } from './verify-contents.ts'
import { VerifyReport, type VerifyResult } from './verify-report.ts'
import { verifySnapshots, type WalkedRepository } from './verify-snapshots.ts'

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
  const { contents } = repository
  const walked = { contents, manifests: new ManifestReader({ contents, skipDamaged: true }) }
  const packs = await verifyBlobs(repository, report, signal)
  const only = options.snapshots && (await contentsOfSnapshots(walked, options))
  const bad = await verifyContents(repository, { packs, report, options, only })
  await verifySnapshots(walked, { bad, report, options })
  return report.result()
}

async function contentsOfSnapshots(
  repository: WalkedRepository,
  options: VerifyOptions,
): Promise<UsedContents> {
  const used = new UsedContents()
  // What is wrong is reported by the walk that follows when the contents are known.
  await verifySnapshots(repository, { bad: new Map(), report: new VerifyReport(), options, used })
  return used
}
