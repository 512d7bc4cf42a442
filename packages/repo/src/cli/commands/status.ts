import { loadMaintenanceParams } from '../../maintenance/params-manifest.ts'
import type { Repository } from '../../repository.ts'
import type { CommandRun } from '../command.ts'
import { fieldLine, repositoryDocument, repositoryLines } from '../describe-repository.ts'
import { exitCodes } from '../exit-codes.ts'
import { printBytes } from '../printable.ts'
import { withRepository } from '../with-repository.ts'

/** `status`: format, owner, and how much is stored. */
export const status: CommandRun = context =>
  withRepository(context, { readOnly: true, tolerant: true }, async repository => {
    const { signal } = context.surroundings
    const { owner } = await loadMaintenanceParams(repository.manifests, signal)
    const snapshots = (await repository.manifests.find({ type: 'snapshot' }, signal)).length
    const usage = await measure(repository, signal)
    await context.output.document(
      { ...repositoryDocument(repository), maintenanceOwner: owner, snapshots, ...usage },
      [
        ...repositoryLines(repository),
        fieldLine('owner', owner === '' ? 'nobody' : owner),
        fieldLine('snapshots', String(snapshots)),
        fieldLine('contents', `${usage.contents}, ${printBytes(usage.originalBytes)} before packing`),
        fieldLine('blobs', `${usage.blobs}, ${printBytes(usage.storedBytes)}`),
      ],
    )
    return exitCodes.ok.code
  })

async function measure({ contents, storage }: Repository, signal: AbortSignal) {
  const usage = { contents: 0, originalBytes: 0, blobs: 0, storedBytes: 0 }
  for await (const { originalLength } of contents.entries({ signal })) {
    usage.contents += 1
    usage.originalBytes += originalLength
  }
  for await (const { length } of storage.list('', { signal })) {
    usage.blobs += 1
    usage.storedBytes += length
  }
  return usage
}
