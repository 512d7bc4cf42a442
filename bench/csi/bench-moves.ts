import path from 'node:path'
import type { KubeClient } from '@lateen/kube'
import { cacheFolder } from '../../tools/binaries/cache-folder.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { type Contender, installBoth, lateen, velero } from '../fs-backup/contenders.ts'
import { type KopiaTimes, kopiaAlone } from '../fs-backup/kopia-alone.ts'
import { backUp, type Measured, restore, ways } from '../fs-backup/measure-work.ts'
import { noteTimes } from '../fs-backup/note-times.ts'
import { fillWithLarge, startHolder } from '../fs-backup/workload.ts'
import { makeDataSets, warmUp } from '../repo/make-data.ts'
import type { BenchContext } from '../run.ts'
import { folderOf, makeClaims } from './claims.ts'

interface MoveBench {
  context: BenchContext
  cluster: Cluster
  client: KubeClient
  folder: string
  /** How much of each of the four large files is moved. */
  largeMiB: number
  rounds: number
}

/** What one contender did in one round. */
interface Round {
  first: Measured
  again: Measured
  restored: Measured
}

/** The data of one volume to the repository and back, by both programs as they are installed; `kopia` on the same folder is the limit. */
export async function benchMoves(run: MoveBench): Promise<void> {
  const { context, cluster, folder, rounds, largeMiB } = run
  context.progress('installing both')
  await installBoth(cluster, folder, ['--features=EnableCSI'])
  const { large } = makeDataSets(path.join(cacheFolder(), 'bench', 'data'))
  warmUp(large)
  const contenders = context.flags.has('--ours') ? [lateen] : [velero, lateen]
  const done = new Map<Contender, Round[]>(contenders.map(contender => [contender, []]))
  const alone: KopiaTimes[] = []
  for (let round = 1; round <= rounds; round++) {
    context.progress(`${4 * largeMiB} MiB of one volume, round ${round} of ${rounds}`)
    const namespace = `moved-${round}`
    await makeClaims(cluster, { namespace, names: ['data'], size: '4Gi' })
    const volume = await folderOf(cluster, { namespace, claim: 'data' })
    await startHolder(cluster, namespace, { data: { persistentVolumeClaim: { claimName: 'data' } } })
    await fillWithLarge(volume, { large: large.folder, largeMiB })
    for (const contender of round % 2 === 1 ? contenders : contenders.toReversed()) {
      done.get(contender)?.push(await runRound(run, contender, { namespace, round }))
    }
    if (contenders.length > 1) {
      const scratch = path.join(folder, 'kopia')
      alone.push(await kopiaAlone(cluster, { folders: [volume], scratch, prefix: `kopia-${round}` }))
    }
    await cluster.kubectl(['delete', 'namespace', namespace, '--timeout=180s'])
  }
  reportMoves(run, { done, alone })
  context.note(
    `moves: the best of ${rounds} rounds; both programs installed with their node agents in one cluster`,
  )
}

async function runRound(
  { context, client, cluster }: MoveBench,
  contender: Contender,
  { namespace, round }: { namespace: string; round: number },
): Promise<Round> {
  const ports = { client, signal: context.signal }
  const tell = (what: string, { seconds, moverMiB }: Measured) =>
    context.progress(`  ${contender.name}, ${what}: ${seconds.toFixed(1)} s, ${moverMiB.toFixed(0)} MiB`)
  const way = ways.snapshots
  const first = await backUp(contender, { name: `first-${round}`, workload: namespace, way }, ports)
  tell('first backup', first)
  const again = await backUp(contender, { name: `again-${round}`, workload: namespace, way }, ports)
  tell('again', again)
  const to = `${namespace}-restored`
  const wanted = { name: `restore-${round}`, backup: `first-${round}`, from: namespace, to, way }
  const restored = await restore(contender, wanted, ports)
  tell('restore', restored)
  await cluster.kubectl(['delete', 'namespace', to, '--timeout=180s'])
  return { first, again, restored }
}

function reportMoves(
  { context, largeMiB }: MoveBench,
  { done, alone }: { done: ReadonlyMap<Contender, readonly Round[]>; alone: readonly KopiaTimes[] },
): void {
  const what = `${4 * largeMiB} MiB of a snapshot`
  const steps = [
    { step: 'first', called: `move ${what} to the repository`, kopia: 'first' },
    { step: 'again', called: `move ${what}, unchanged`, kopia: 'again' },
    { step: 'restored', called: `move ${what} into a new volume`, kopia: 'restore' },
  ] as const
  for (const { step, called, kopia } of steps) {
    const all = (contender: Contender) => (done.get(contender) ?? []).map(round => round[step])
    const [ours, theirs] = [all(lateen), all(velero)]
    const best = (measured: readonly Measured[]) => Math.min(...measured.map(({ seconds }) => seconds))
    const most = (measured: readonly Measured[]) => Math.max(...measured.map(({ moverMiB }) => moverMiB))
    context.report({
      what: called,
      ours: { value: best(ours), unit: 's' },
      ...(theirs.length > 0 && { peer: { value: best(theirs), unit: 's', name: velero.name } }),
    })
    if (alone.length > 0) {
      const limit = Math.min(...alone.map(times => times[kopia]))
      context.report({
        what: called,
        ours: { value: best(ours), unit: 's' },
        peer: { value: limit, unit: 's', name: 'kopia alone' },
      })
    }
    context.report({
      what: `${called}, peak memory of a mover`,
      ours: { value: most(ours), unit: 'MiB' },
      ...(theirs.length > 0 && { peer: { value: most(theirs), unit: 'MiB', name: velero.name } }),
    })
    for (const contender of done.keys()) {
      for (const measured of all(contender)) noteTimes(context, `${contender.name}, ${called}`, measured)
    }
  }
}
