import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { cacheFolder } from '../../tools/binaries/cache-folder.ts'
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts'
import { makeDataSets, warmUp } from '../repo/make-data.ts'
import type { BenchContext } from '../run.ts'
import { allowAtOnce, type Contender, installBoth, lateen, velero } from './contenders.ts'
import { type KopiaTimes, kopiaAlone } from './kopia-alone.ts'
import { backUp, type Measured, restore } from './measure-work.ts'
import { noteTimes } from './note-times.ts'
import {
  fillVolume,
  fillWithLarge,
  fillWithParts,
  firstRead,
  startWorkload,
  touch,
  type VolumeParts,
  type Workload,
  writeTellTale,
} from './workload.ts'

/**
 * `--ours`: without Velero and kopia, to look for what to improve. `--overhead`: only one small file. `--small`: little data and one
 * round, to try the bench itself.
 */
export const flags = ['--ours', '--overhead', '--small']

const tinyRounds = 3

interface Bench {
  context: BenchContext
  cluster: Cluster
  client: KubeClient
  folder: string
  data: Data
  rounds: number
  contenders: readonly Contender[]
}

/** What volumes are filled with. */
interface Data extends VolumeParts {
  /** In the report. */
  what: string
  /** How much of the large files goes into a volume. */
  largeMiB: number
}

/**
 * Backups and restores of pod volumes by Lateen and by Velero, both installed in one cluster with their node agents, in turn and on the
 * same volumes; `kopia` alone on the same folders is the limit.
 */
export async function bench(context: BenchContext): Promise<void> {
  const [busy = 0] = loadavg()
  context.progress('making the data and starting a cluster')
  const data = makeData(context)
  // Servers that people use let clients keep their connections.
  process.env.VGW_KEEP_ALIVE = 'true'
  await using cluster = await startCluster(`bench-${process.pid}`, { node: true, s3: true })
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-fs-'))
  try {
    const contenders = context.flags.has('--ours') ? [lateen] : [velero, lateen]
    const rounds = context.flags.has('--small') ? 1 : 2
    const run: Bench = { context, cluster, client, folder, data, contenders, rounds }
    context.progress('installing both')
    await installBoth(cluster, folder)
    await benchTiny(run)
    if (!context.flags.has('--overhead')) {
      await benchTwoVolumes(run)
      await benchEight(run)
    }
    noteHow(run, busy)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Made once and kept between runs. */
function makeData({ flags: given }: BenchContext): Data {
  const { large, tree, small } = makeDataSets(path.join(cacheFolder(), 'bench', 'data'))
  if (given.has('--small')) {
    const what = '8 MiB and 100 files in two volumes'
    return { what, large: large.folder, tree: small.folder, largeMiB: 2, partMiB: 1 }
  }
  for (const set of [large, tree]) warmUp(set)
  const what = '1 GiB and 29,384 files in two volumes'
  return { what, large: large.folder, tree: tree.folder, largeMiB: 256, partMiB: 64 }
}

/** What one contender did in one round. */
interface Round {
  first: Measured
  again: Measured
  restored: Measured
}

async function benchTwoVolumes(run: Bench): Promise<void> {
  const { context, cluster, contenders, data, rounds } = run
  const done = new Map<Contender, Round[]>(contenders.map(contender => [contender, []]))
  const alone: KopiaTimes[] = []
  for (let round = 1; round <= rounds; round++) {
    context.progress(`${data.what}, round ${round} of ${rounds}`)
    const workload = await startWorkload(cluster, `two-${round}`, ['large', 'tree'])
    await fillWithLarge(workload.folders.large ?? '', data)
    await fillVolume(workload.folders.tree, data.tree)
    for (const contender of round % 2 === 1 ? contenders : contenders.toReversed()) {
      done.get(contender)?.push(await runRound(run, contender, { workload, round }))
    }
    if (contenders.length > 1) alone.push(await runKopia(run, workload, round))
    await removeNamespace(run, workload.namespace)
  }
  reportTwoVolumes(run, { done, alone })
}

async function runRound(
  run: Bench,
  contender: Contender,
  { workload, round }: { workload: Workload; round: number },
): Promise<Round> {
  const { context, client } = run
  const ports = { client, signal: context.signal }
  const tell = (what: string, { seconds, moverMiB }: Measured) =>
    context.progress(`  ${contender.name}, ${what}: ${seconds.toFixed(1)} s, ${moverMiB.toFixed(0)} MiB`)
  const from = workload.namespace
  const first = await backUp(contender, { name: `first-${round}`, workload: from }, ports)
  tell('first backup', first)
  const again = await backUp(contender, { name: `again-${round}`, workload: from }, ports)
  tell('again', again)
  const to = `${from}-restored`
  const names = { name: `restore-${round}`, backup: `first-${round}`, from, to }
  const restored = await restore(contender, names, ports)
  tell('restore', restored)
  await removeNamespace(run, to)
  return { first, again, restored }
}

async function runKopia(run: Bench, { folders }: Workload, round: number): Promise<KopiaTimes> {
  const { cluster, context, folder } = run
  const times = await kopiaAlone(cluster, {
    folders: Object.values(folders).filter(folder => folder !== undefined),
    scratch: path.join(folder, 'kopia'),
    prefix: `kopia-${round}`,
  })
  const { first, again, restore: restored } = times
  context.progress(
    `  kopia: ${[first, again, restored].map(seconds => `${seconds.toFixed(1)} s`).join(', ')}`,
  )
  return times
}

function reportTwoVolumes(
  { context, contenders, data }: Bench,
  { done, alone }: { done: ReadonlyMap<Contender, Round[]>; alone: readonly KopiaTimes[] },
): void {
  const { what } = data
  const steps = [
    { step: 'first', called: `back up ${what}`, kopia: 'first' },
    { step: 'again', called: `back up ${what}, unchanged`, kopia: 'again' },
    { step: 'restored', called: `restore ${what}`, kopia: 'restore' },
  ] as const
  for (const { step, called, kopia } of steps) {
    const all = (contender: Contender) => (done.get(contender) ?? []).map(round => round[step])
    const limit = alone.map(times => times[kopia])
    compareSeconds(context, { what: called, ours: all(lateen), theirs: all(velero), atMost: 0.5 })
    if (limit.length > 0) {
      context.report({
        what: called,
        ours: { value: best(all(lateen)), unit: 's' },
        peer: { value: Math.min(...limit), unit: 's', name: 'kopia alone' },
      })
    }
    compareMemory(context, { what: called, ours: all(lateen), theirs: all(velero) })
    for (const contender of contenders) {
      for (const measured of all(contender)) noteTimes(context, `${contender.name}, ${called}`, measured)
    }
  }
}

async function benchTiny(run: Bench): Promise<void> {
  const { context, cluster, client, contenders } = run
  context.progress('one small file')
  const workload = await startWorkload(cluster, 'tiny', ['only'])
  const file = await writeTellTale(workload.folders.only ?? '')
  const done = new Map<Contender, { measured: Measured; firstByte: number }[]>()
  for (let round = 1; round <= tinyRounds; round++) {
    for (const contender of contenders) {
      await touch(file)
      const names = { name: `tiny-${round}`, workload: workload.namespace }
      const measured = await backUp(contender, names, { client, signal: context.signal })
      const firstByte = ((await firstRead(file)) - (measured.volumes[0]?.created ?? 0)) / 1000
      context.progress(`  ${contender.name}: ${measured.seconds.toFixed(1)} s, ${firstByte.toFixed(2)} s`)
      noteTimes(context, `${contender.name}, back up one small file`, measured)
      done.set(contender, [...(done.get(contender) ?? []), { measured, firstByte }])
    }
  }
  const of = (contender: Contender) => done.get(contender) ?? []
  const [ours, theirs] = [of(lateen), of(velero)]
  const totals = (all: typeof ours) => all.map(({ measured }) => measured)
  compareSeconds(context, { what: 'back up one small file', ours: totals(ours), theirs: totals(theirs) })
  const starts = (all: typeof ours) => all.map(({ firstByte }) => ({ seconds: firstByte }))
  const what = 'PodVolumeBackup created to the first byte read'
  compareSeconds(context, { what, ours: starts(ours), theirs: starts(theirs) })
  await removeNamespace(run, workload.namespace)
}

async function benchEight(run: Bench): Promise<void> {
  const { context, cluster, client, contenders, data } = run
  const volumes = Array.from({ length: 8 }, (_, at) => `part-${at}`)
  for (const atOnce of [1, 2]) {
    context.progress(`8 volumes, ${atOnce} at a time`)
    if (atOnce > 1) await allowAtOnce(cluster, atOnce)
    const workload = await startWorkload(cluster, `eight-${atOnce}`, volumes)
    await fillWithParts(
      volumes.map(name => workload.folders[name] ?? ''),
      data,
    )
    const done = new Map<Contender, Measured>()
    for (const contender of contenders) {
      const names = { name: `eight-${atOnce}`, workload: workload.namespace }
      const measured = await backUp(contender, names, { client, signal: context.signal })
      context.progress(`  ${contender.name}: ${measured.seconds.toFixed(1)} s`)
      done.set(contender, measured)
    }
    const of = (contender: Contender) => [done.get(contender)].filter(measured => measured !== undefined)
    const what = `back up 8 volumes, ${atOnce} at a time${atOnce === 1 ? ' as by default' : ''}`
    compareSeconds(context, { what, ours: of(lateen), theirs: of(velero), atMost: 0.5 })
    await removeNamespace(run, workload.namespace)
  }
}

interface Compared<T> {
  what: string
  ours: readonly T[]
  theirs: readonly T[]
}

function compareSeconds(
  context: BenchContext,
  { what, ours, theirs, atMost }: Compared<{ seconds: number }> & { atMost?: number },
): void {
  context.report({
    what,
    ours: { value: best(ours), unit: 's' },
    ...(theirs.length > 0 && { peer: { value: best(theirs), unit: 's', name: velero.name } }),
    ...(atMost !== undefined && { goal: { of: 'ratio', atMost } }),
  })
}

function compareMemory(context: BenchContext, { what, ours, theirs }: Compared<Measured>): void {
  const most = (all: readonly Measured[]) => Math.max(...all.map(({ moverMiB }) => moverMiB))
  context.report({
    what: `${what}, peak memory of a mover`,
    ours: { value: most(ours), unit: 'MiB' },
    ...(theirs.length > 0 && { peer: { value: most(theirs), unit: 'MiB', name: velero.name } }),
    goal: { of: 'ours', atMost: 256 },
  })
}

function best(all: readonly { seconds: number }[]): number {
  return Math.min(...all.map(({ seconds }) => seconds))
}

async function removeNamespace({ cluster }: Bench, namespace: string): Promise<void> {
  await cluster.kubectl(['delete', 'namespace', namespace, '--timeout=180s'])
}

function noteHow({ context, data, rounds }: Bench, busy: number): void {
  context.note('time from the creation of the Backup or Restore until it is Completed, as a watch sees it')
  context.note(
    'both programs installed in one cluster with one node, each with its own repositories in one S3 server, all on this machine; a new namespace, and so new repositories, for each round',
  )
  context.note(`the best of ${rounds} rounds, of ${tinyRounds} for one small file, of one for 8 volumes`)
  context.note(`each of the 8 volumes has ${data.partMiB} MiB of random data and an eighth of the files`)
  context.note(
    'memory is VmHWM of the movers, looked at every 50 ms; the first byte is when the file system says that a file was first read',
  )
  context.note(`the machine's load average was ${busy.toFixed(1)} before`)
}
