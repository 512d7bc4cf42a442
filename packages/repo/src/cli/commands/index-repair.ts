import type { IndexRepair } from '../../repair-indexes.ts'
import type { CommandRun } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { repoPassword, withStorage } from '../with-repository.ts'

/** `index repair`: replaces damaged index blobs; with `--dry-run` it names them. */
export const indexRepair: CommandRun = async context => {
  const { flags, output, surroundings } = context
  const { clock, signal } = surroundings
  const dryRun = flags['dry-run'] === true
  const password = await repoPassword(context)
  const { repairIndexes } = await import('../../repair-indexes.ts')
  return withStorage(context, async storage => {
    const repair = await repairIndexes({ storage, password, clock, dryRun, signal })
    await output.document(repairDocument(repair), repairLines(repair, dryRun))
    return exitCodes.ok.code
  })
}

function repairDocument({ damaged, written, withoutPack }: IndexRepair) {
  return { damaged: damaged.map(({ plaintext: _, ...blob }) => blob), written, withoutPack }
}

function repairLines({ damaged, written, withoutPack }: IndexRepair, dryRun: boolean): string[] {
  if (damaged.length === 0) return ['no index blob is damaged']
  const found = damaged.map(
    ({ blobId, packs, lostPacks }) =>
      `${blobId} is damaged; ${packs} packs tell what it said${lostLine(lostPacks)}`,
  )
  if (dryRun) return [...found, 'nothing was changed']
  const gone = withoutPack === 0 ? [] : [`${withoutPack} contents whose packs are gone are marked deleted`]
  return [...found, ...gone, `${damaged.length} index blobs were replaced by ${written.length}; run verify`]
}

function lostLine(packs: readonly string[]): string {
  return packs.length === 0 ? '' : `, but not ${packs.join(', ')}`
}
