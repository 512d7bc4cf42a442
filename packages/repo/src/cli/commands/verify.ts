import type { RebuiltIndex } from '../../maintenance/rebuilt-indexes.ts'
import { verifyRepository } from '../../maintenance/verify.ts'
import type { VerifyProblem, VerifyResult } from '../../maintenance/verify-report.ts'
import { snapshotMetadata } from '../../snapshot/list-snapshots.ts'
import { type CommandRun, textFlag } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { percentage } from '../number-flag.ts'
import { printable, printBytes } from '../printable.ts'
import { withProgress } from '../with-progress.ts'
import { withRepository } from '../with-repository.ts'

/** `verify [SNAPSHOT...]`: everything, or the given snapshots and what lies below them. */
export const verify: CommandRun = context => {
  const percent = percentage('percent', textFlag(context.flags, 'percent')) ?? 100
  const rebuilt = new Map<string, RebuiltIndex>()
  const onRebuiltIndex = (index: RebuiltIndex) => rebuilt.set(index.blobId, index)
  return withRepository(context, { readOnly: true, tolerant: true, onRebuiltIndex }, async repository => {
    const { args, output, surroundings } = context
    const { signal, clock } = surroundings
    const snapshots: string[] = []
    for (const id of args) snapshots.push((await snapshotMetadata(repository.manifests, id, signal)).id)
    const verified = await withProgress(context, show =>
      verifyRepository(repository, {
        contents: percent === 100 ? 'all' : percent === 0 ? 'none' : 'sample',
        samplePercent: percent,
        seed: (clock.now() % 1000) / 1000,
        ...(snapshots.length > 0 && { snapshots }),
        signal,
        onProgress: ({ bytesRead, files }) => show({ what: 'verified', bytes: bytesRead, files }),
      }),
    )
    const result = withDamagedIndexes(verified, rebuilt)
    await output.document(result, [
      ...result.found.map(({ error }) => printable(error.message)),
      resultLine(result),
    ])
    return result.ok ? exitCodes.ok.code : exitCodes.damaged.code
  })
}

/** The rest was verified with what the packs say; the damaged blobs themselves come first. */
function withDamagedIndexes(result: VerifyResult, rebuilt: ReadonlyMap<string, RebuiltIndex>): VerifyResult {
  const others = result.found.filter(({ blobId = '' }) => !rebuilt.has(blobId))
  const damaged = [...rebuilt.values()].map(
    ({ blobId, error }): VerifyProblem => ({ what: 'blob', blobId, error }),
  )
  const problems = result.problems - (result.found.length - others.length) + damaged.length
  return { ...result, problems, ok: problems === 0, found: [...damaged, ...others] }
}

function resultLine({ snapshots, files, contents, contentsRead, bytesRead, problems }: VerifyResult): string {
  const read = `${contentsRead} of ${contents} contents read (${printBytes(bytesRead)})`
  return `${snapshots} snapshots, ${files} files, ${read}: ${problems === 0 ? 'all good' : `${problems} problems`}`
}
