import path from 'node:path'
import { bundleLateen } from '../../tools/bundle/bundle.ts'
import { type Contender, lateen } from '../backup/contenders.ts'
import { prepareLocations } from '../backup/prepare-locations.ts'
import type { BenchContext } from '../run.ts'
import { makeClaims } from './claims.ts'
import { type SnapshotsTaken, type TakeOptions, type TakePorts, takeSnapshots } from './take-snapshots.ts'
import { veleroWithCsi } from './velero-with-csi.ts'

const workload = 'claims'

interface SnapshotBench extends TakePorts {
  context: BenchContext
  claims: number
  /** How often the backup is taken besides the time when writes are counted. */
  rounds: number
}

/** What a server did: with snapshots, without, and with its writes counted. */
interface Taken {
  server: Contender
  best: SnapshotsTaken
  /** The same backup that only stores the claims. */
  plain: SnapshotsTaken
  counted: SnapshotsTaken
}

/** One backup of many claims, each with a snapshot of its volume, by Lateen and by Velero as it is installed and with more workers. */
export async function benchSnapshots(run: SnapshotBench): Promise<void> {
  const { context, cluster, claims, folder } = run
  const bundle = path.join(folder, 'bundle')
  const { entry } = await bundleLateen(bundle)
  const ours = lateen(folder, path.join(bundle, entry))
  const theirs = veleroWithCsi('Velero 1.18.3')
  const tuned = veleroWithCsi('Velero 1.18.3, 8 workers', ['--item-block-worker-count=8'])
  await prepareLocations(run, [ours, theirs])
  context.progress(`making ${claims} claims`)
  const names = Array.from({ length: claims }, (_, at) => `claim-${at}`)
  await makeClaims(cluster, { namespace: workload, names, size: '1Mi' })
  const taken = await takeAll(run, ours)
  if (context.flags.has('--ours')) report(run, taken)
  else {
    // It waits most of the time, so that the proxy does not matter, and once is long enough.
    const once = { ...run, rounds: 0 }
    report(run, taken, await takeAll(once, theirs))
    reportSeconds(run, taken, await takeAll(once, tuned))
  }
  context.note(
    `${claims} claims without pods, of one CSI driver, in one namespace; servers as processes of this machine`,
  )
  context.note(
    'worker time blocked at most: how much longer a backup is InProgress than the same one that takes no snapshots. Lateen waits for no snapshot meanwhile: its share are its requests, on cores on which the driver works as well',
  )
  context.note(
    'writes are those of the server, counted by a proxy in a backup of its own for Lateen; those of the snapshot controller and the driver come on top',
  )
}

let backups = 0

async function takeAll(run: SnapshotBench, server: Contender): Promise<Taken> {
  const { context } = run
  const take = async (what: string, options: Omit<TakeOptions, 'name' | 'workload'> = {}) => {
    backups += 1
    const taken = await takeSnapshots(server, { name: `bench-${backups}`, workload, ...options }, run)
    const { seconds, busySeconds, snapshots, phases } = taken
    context.progress(
      `  ${server.name}, ${what}: ${seconds.toFixed(1)} s, busy ${busySeconds.toFixed(1)} s, ${snapshots} snapshots`,
    )
    context.note(`${server.name}, ${what}: ${seconds.toFixed(2)} s; ${phases.join(', ')}`)
    return taken
  }
  const plain = await take('without snapshots', { snapshots: false })
  const all: SnapshotsTaken[] = []
  for (let round = 0; round < run.rounds; round++) all.push(await take('snapshots'))
  const counted = await take('snapshots, writes counted', { counted: true })
  const [best = counted] = all.toSorted((a, b) => a.seconds - b.seconds)
  return { server, best, plain, counted }
}

function report(run: SnapshotBench, ours: Taken, theirs?: Taken): void {
  const { context, claims } = run
  reportSeconds(run, ours, theirs)
  const blocked = ({ best, plain }: Taken) => Math.max(0, best.busySeconds - plain.busySeconds)
  context.report({
    what: `${claims} snapshots in one backup, worker time blocked at most`,
    ours: { value: blocked(ours), unit: 's' },
    ...(theirs && { peer: { value: blocked(theirs), unit: 's', name: theirs.server.name } }),
  })
  const writes = ({ counted }: Taken) => [...(counted.writes ?? [])]
  const total = (taken: Taken) => writes(taken).reduce((sum, [, count]) => sum + count, 0)
  context.report({
    what: `${claims} snapshots in one backup, writes to the API server`,
    ours: { value: total(ours), unit: 'writes' },
    ...(theirs && { peer: { value: total(theirs), unit: 'writes', name: theirs.server.name } }),
  })
  for (const taken of theirs ? [ours, theirs] : [ours]) {
    const each = writes(taken).toSorted(([, a], [, b]) => b - a)
    context.note(
      `${taken.server.name} made these writes: ${each.map(([what, count]) => `${count} ${what}`).join(', ')}`,
    )
    if (taken.best.snapshots !== claims) {
      context.note(`${taken.server.name} has taken ${taken.best.snapshots} snapshots`)
    }
  }
}

function reportSeconds({ context, claims }: SnapshotBench, ours: Taken, theirs?: Taken): void {
  context.report({
    what: `${claims} snapshots in one backup`,
    ours: { value: ours.best.seconds, unit: 's' },
    ...(theirs && { peer: { value: theirs.best.seconds, unit: 's', name: theirs.server.name } }),
  })
}
