import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { RestoreSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { bundleLateen } from '../../tools/bundle/bundle.ts'
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts'
import { type Contender, lateen, velero } from '../backup/contenders.ts'
import { benchNamespaces, makeObjects, makeUsualObjects, usualCounts } from '../backup/make-objects.ts'
import type { BenchContext } from '../run.ts'
import { makeBackup, prepareServers } from './prepare.ts'
import { type Restored, runRestore } from './run-restore.ts'

/** `--small` is for trying the bench itself, `--full` has as many items as the goals come from, `--huge` adds 100,000. */
export const flags = ['--small', '--full', '--huge']

const hugeItems = 100_000

interface Size {
  counts: typeof usualCounts
  ourRounds: number
  theirRounds: number
}

const sizes = {
  small: {
    counts: { configMaps: 280, secrets: 60, services: 40, deployments: 40 },
    ourRounds: 1,
    theirRounds: 1,
  },
  usual: {
    counts: { configMaps: 2_415, secrets: 500, services: 125, deployments: 125 },
    ourRounds: 3,
    theirRounds: 3,
  },
  full: { counts: usualCounts, ourRounds: 3, theirRounds: 1 },
} satisfies Record<string, Size>

interface Bench {
  context: BenchContext
  cluster: Cluster
  client: KubeClient
  count: number
}

/**
 * Restores of one backup of 20 namespaces into new ones, and into those once more, by Lateen, by Velero as it is installed and by
 * Velero with more requests, on one cluster, in turn. Each restore has a server that was started for it.
 */
export async function bench(context: BenchContext): Promise<void> {
  context.progress('starting a cluster')
  await using cluster = await startCluster(`bench-${process.pid}`, { node: false, s3: true })
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-restore-'))
  try {
    const { entry } = await bundleLateen(path.join(folder, 'bundle'))
    const servers: Servers = {
      ours: lateen(folder, path.join(folder, 'bundle', entry)),
      theirs: velero('Velero 1.18.3', []),
      tuned: velero('Velero 1.18.3, QPS 2000', ['--client-qps=2000', '--client-burst=4000']),
    }
    const run: Bench = { context, cluster, client, count: 0 }
    await benchAll(run, servers)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Servers {
  ours: Contender
  theirs: Contender
  tuned: Contender
}

async function benchAll(run: Bench, servers: Servers): Promise<void> {
  const { context, cluster, client } = run
  const { flags: given } = context
  const size = given.has('--full') ? sizes.full : given.has('--small') ? sizes.small : sizes.usual
  await prepareServers({ cluster, client }, Object.values(servers))
  context.progress('making objects')
  await makeUsualObjects(cluster, client, size.counts)
  const others = [servers.theirs]
  await makeBackup('whole', { by: servers.ours, others }, run)
  const usual = await benchNew(run, servers, size)
  await benchExisting(run, servers)
  if (given.has('--huge')) await benchHuge(run, servers, { usual, counts: size.counts })
  noteHow(context, size)
}

/** Into namespaces that do not exist. */
async function benchNew(run: Bench, servers: Servers, size: Size): Promise<Restored> {
  const { ours, theirs, tuned } = servers
  const done = new Map<Contender, Restored[]>([ours, theirs, tuned].map(server => [server, []]))
  for (let round = 0; round < Math.max(size.ourRounds, size.theirRounds); round++) {
    const turns = round % 2 === 0 ? [ours, theirs, tuned] : [tuned, theirs, ours]
    for (const server of turns) {
      if (round >= (server === ours ? size.ourRounds : size.theirRounds)) continue
      const restored = await restoreTo(run, { server, backup: 'whole', place: newPlace(run) })
      done.get(server)?.push(restored)
    }
  }
  const [mine, plain, fast] = [ours, theirs, tuned].map(server => medianOf(done.get(server) ?? []))
  if (!mine || !plain || !fast) throw new Error('there are three contenders')
  const what = `restore ${mine.items} items`
  report(run, { what, ours: mine, theirs: plain, name: theirs.name, atMost: 1 / 20, memoryAtMost: 0.5 })
  report(run, { what, ours: mine, theirs: fast, name: tuned.name, atMost: 1 / 8, memoryAtMost: 0.5 })
  return mine
}

/** Into namespaces that have everything: under none as it is, under update with labels of the new restore. */
async function benchExisting(run: Bench, { ours, tuned }: Servers): Promise<void> {
  const done: Record<'none' | 'update', Restored[]> = { none: [], update: [] }
  for (const server of [ours, tuned]) {
    const place = newPlace(run)
    await restoreTo(run, { server, backup: 'whole', place, keep: true })
    for (const policy of ['none', 'update'] as const) {
      const spec = { existingResourcePolicy: policy }
      const last = policy === 'update'
      done[policy].push(await restoreTo(run, { server, backup: 'whole', place, spec, keep: !last }))
    }
  }
  for (const policy of ['none', 'update'] as const) {
    const [mine, other] = done[policy]
    if (mine === undefined || other === undefined) continue
    const what = `restore ${mine.items} items that are there, under ${policy}`
    report(run, { what, ours: mine, theirs: other, name: tuned.name })
  }
}

/** By us alone: Velero would take half an hour. */
async function benchHuge(
  run: Bench,
  { ours }: Servers,
  { usual, counts }: { usual: Restored; counts: typeof usualCounts },
): Promise<void> {
  const { context, client } = run
  context.progress(`making ${hugeItems} objects`)
  const configMaps = counts.configMaps + hugeItems - usual.items
  await makeObjects(client, { from: counts, to: { configMaps } })
  await makeBackup('huge', { by: ours, others: [] }, run)
  const huge = await restoreTo(run, { server: ours, backup: 'huge', place: newPlace(run), keep: true })
  const what = `restore ${huge.items} items`
  context.report({
    what: `${what}, time beside that of ${usual.items}`,
    ours: { value: huge.seconds, unit: 's' },
    peer: { value: (usual.seconds * huge.items) / usual.items, unit: 's', name: 'in proportion' },
    goal: { of: 'ratio', atMost: 1.1 },
  })
  context.report({
    what: `${what}, peak memory beside that of ${usual.items}`,
    ours: { value: huge.serverMiB, unit: 'MiB' },
    peer: { value: usual.serverMiB, unit: 'MiB', name: 'Lateen' },
    goal: { of: 'ratio', atMost: 1.3 },
  })
}

interface RestoreTo {
  server: Contender
  backup: string
  /** What the names of the namespaces begin with. */
  place: string
  spec?: Partial<RestoreSpec>
  /** Whether the namespaces stay. */
  keep?: boolean
}

function newPlace(run: Bench): string {
  return `restored-${run.count + 1}`
}

async function restoreTo(run: Bench, { server, backup, place, spec, keep }: RestoreTo): Promise<Restored> {
  const { context, cluster } = run
  run.count += 1
  const targets = benchNamespaces.map(name => [name, `${place}-${name}`] as const)
  const order = {
    server,
    name: `bench-${run.count}`,
    spec: { backupName: backup, namespaceMapping: Object.fromEntries(targets), ...spec },
  }
  context.progress(`restore ${run.count}, ${backup} to ${place} by ${server.name}`)
  const restored = await runRestore(order, { ...run, signal: context.signal })
  const { seconds, serverMiB, items } = restored
  context.progress(`  ${seconds.toFixed(1)} s, ${serverMiB.toFixed(0)} MiB, ${items} items`)
  if (keep !== true) {
    const names = targets.map(([, target]) => target)
    await cluster.kubectl(['delete', 'namespace', '--timeout=20m', ...names])
  }
  return restored
}

interface Comparison {
  what: string
  ours: Restored
  theirs: Restored
  name: string
  atMost?: number
  memoryAtMost?: number
}

function report({ context }: Bench, compared: Comparison): void {
  const { what, ours, theirs, name, atMost, memoryAtMost } = compared
  if (ours.items !== theirs.items) context.note(`${what}: ${name} restored ${theirs.items}`)
  context.report({
    what,
    ours: { value: ours.seconds, unit: 's' },
    peer: { value: theirs.seconds, unit: 's', name },
    ...(atMost !== undefined && { goal: { of: 'ratio', atMost } }),
  })
  context.report({
    what: `${what}, peak memory of the server`,
    ours: { value: ours.serverMiB, unit: 'MiB' },
    peer: { value: theirs.serverMiB, unit: 'MiB', name },
    ...(memoryAtMost !== undefined && { goal: { of: 'ratio', atMost: memoryAtMost } }),
  })
  context.report({
    what: `${what}, peak memory with plugin processes`,
    ours: { value: ours.treeMiB, unit: 'MiB' },
    peer: { value: theirs.treeMiB, unit: 'MiB', name },
  })
  context.report({
    what: `${what}, requests to the API server`,
    ours: { value: total(ours), unit: 'requests' },
    peer: { value: total(theirs), unit: 'requests', name },
  })
  context.note(`${what}: ours made ${byVerb(ours)}`)
  context.note(`${what}: ${name} made ${byVerb(theirs)}`)
}

function total({ requests }: Restored): number {
  return [...requests.values()].reduce((sum, count) => sum + count, 0)
}

function byVerb({ requests }: Restored): string {
  const sorted = [...requests].toSorted((a, b) => b[1] - a[1])
  return sorted.map(([verb, count]) => `${count} ${verb}`).join(', ')
}

function noteHow(context: BenchContext, { ourRounds, theirRounds }: Size): void {
  context.note('time from the creation of the Restore object until it is Completed, as a watch sees it')
  context.note(
    'every restore by a server started for it; Lateen bundled, with its defaults and the environment of its image, Velero with velero-plugin-for-aws 1.14.3',
  )
  context.note(
    'requests are what apiserver_request_total gained meanwhile without watches, those of controllers included that see the new objects',
  )
  context.note(
    `medians of ${ourRounds} rounds of ours and ${theirRounds} of theirs, in turn, and one of each for what is there; API server, S3 server and contenders on this machine`,
  )
}

/** The one with the median time; memory is the highest of all. */
function medianOf(restored: readonly Restored[]): Restored {
  const sorted = restored.toSorted((a, b) => a.seconds - b.seconds)
  const median = sorted[sorted.length >> 1]
  if (median === undefined) throw new Error('nothing was measured')
  const highest = (of: (each: Restored) => number) => Math.max(...restored.map(of))
  return { ...median, serverMiB: highest(each => each.serverMiB), treeMiB: highest(each => each.treeMiB) }
}
