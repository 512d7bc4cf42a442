import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Backup, BackupKind } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { bundleLateen } from '../../tools/bundle/bundle.ts'
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts'
import type { BenchContext } from '../run.ts'
import { type Contender, contenders } from './contenders.ts'
import { countRequests, requestsBetween } from './count-requests.ts'
import { benchNamespaces, makeObjects, makeUsualObjects, usualCounts } from './make-objects.ts'
import { available, prepareLocations } from './prepare-locations.ts'
import { type MemoryPeak, watchMemory } from './watch-memory.ts'

const rounds = 3
const manyItems = 100_000

/** One backup by one server, which was started for it. */
interface Taken extends MemoryPeak {
  seconds: number
  items: number
  requests: ReadonlyMap<string, number>
}

interface Bench {
  context: BenchContext
  cluster: Cluster
  client: KubeClient
  count: number
}

/**
 * Backups of 20 namespaces by Lateen, by Velero as it is installed and by Velero with more workers and requests, on one cluster and one
 * S3 server, in turn. Each backup has a server that was started for it. The figure is the median of the rounds.
 */
export async function bench(context: BenchContext): Promise<void> {
  context.progress('starting a cluster')
  await using cluster = await startCluster(`bench-${process.pid}`, { node: false, s3: true })
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-backup-'))
  try {
    const { entry } = await bundleLateen(path.join(folder, 'bundle'))
    const run: Bench = { context, cluster, client, count: 0 }
    const { ours, theirs, tuned } = contenders(folder, path.join(folder, 'bundle', entry))
    await prepareLocations(run, [ours, theirs])
    context.progress('making objects')
    await makeUsualObjects(cluster, client)
    const usual = await benchUsual(run, [ours, theirs, tuned])
    context.progress(`making ${manyItems} objects`)
    await benchMany(run, { ours, theirs, usual })
    await noteHow(run)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function benchUsual(run: Bench, servers: readonly Contender[]): Promise<Taken> {
  const { context } = run
  const taken = new Map<Contender, Taken[]>(servers.map(server => [server, []]))
  for (let round = 0; round < rounds; round++) {
    for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
      context.progress(`round ${round + 1} of ${rounds}: ${server.name}`)
      taken.get(server)?.push(await takeBackup(run, server))
    }
  }
  const [ours, theirs, tuned] = servers.map(server => medianOf(taken.get(server) ?? []))
  const [, plain, fast] = servers
  if (!ours || !theirs || !tuned || !plain || !fast) throw new Error('there are three contenders')
  if (ours.items !== theirs.items) context.note(`Velero stored ${theirs.items} items, Lateen ${ours.items}`)
  const what = `back up ${ours.items} items`
  reportTimes(run, { what, ours, theirs, name: plain.name, atMost: 1 / 8 })
  reportTimes(run, { what, ours, theirs: tuned, name: fast.name, atMost: 1 / 4 })
  reportMemory(run, { what, ours, theirs, name: plain.name })
  reportRequests(run, { what, ours, theirs, name: plain.name })
  return ours
}

async function benchMany(
  run: Bench,
  { ours, theirs, usual }: { ours: Contender; theirs: Contender; usual: Taken },
): Promise<void> {
  const { context, client } = run
  const configMaps = usualCounts.configMaps + manyItems - usual.items
  await makeObjects(client, { from: usualCounts, to: { configMaps } })
  const taken: Taken[] = []
  for (let round = 0; round < rounds; round++) {
    context.progress(`${manyItems} items, round ${round + 1} of ${rounds}: ${ours.name}`)
    taken.push(await takeBackup(run, ours))
  }
  const many = medianOf(taken)
  context.progress(`${manyItems} items: ${theirs.name}`)
  const velero = await takeBackup(run, theirs)
  const what = `back up ${many.items} items`
  reportTimes(run, { what, ours: many, theirs: velero, name: `${theirs.name}, one round`, atMost: 1 / 8 })
  const inProportion = (usual.seconds * many.items) / usual.items
  context.report({
    what: `${what}, time beside that of ${usual.items}`,
    ours: { value: many.seconds, unit: 's' },
    peer: { value: inProportion, unit: 's', name: 'in proportion' },
    goal: { of: 'ratio', atMost: 1.1 },
  })
  context.report({
    what: `${what}, peak memory beside that of ${usual.items}`,
    ours: { value: many.serverMiB, unit: 'MiB' },
    peer: { value: usual.serverMiB, unit: 'MiB', name: 'Lateen' },
    goal: { of: 'ratio', atMost: 1.3 },
  })
  reportMemory(run, { what, ours: many, theirs: velero, name: theirs.name })
  reportRequests(run, { what, ours: many, theirs: velero, name: theirs.name })
}

/** Starts a server, has it take a backup, and ends it. */
async function takeBackup(run: Bench, server: Contender): Promise<Taken> {
  const { cluster, client, context } = run
  const { namespace } = server
  await using running = await server.start(cluster)
  await available(client, namespace)
  const backups = client.resource(BackupKind, namespace)
  run.count += 1
  const name = `bench-${run.count}`
  const memory = watchMemory(running.pid)
  const before = await countRequests(cluster)
  const started = performance.now()
  const { metadata } = await backups.create({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace },
    spec: { includedNamespaces: benchNamespaces },
  })
  const ended = await watchUntilEnded(
    client,
    { namespace, name, from: metadata.resourceVersion },
    context.signal,
  )
  const seconds = (performance.now() - started) / 1_000
  const after = await countRequests(cluster)
  const peak = await memory.stop()
  if (ended.status?.phase !== 'Completed') {
    throw new Error(`${server.name}: the backup is ${JSON.stringify(ended.status)}`)
  }
  const items = ended.status.progress?.itemsBackedUp ?? 0
  context.progress(`  ${seconds.toFixed(1)} s, ${peak.serverMiB.toFixed(0)} MiB, ${items} items`)
  return { ...peak, seconds, items, requests: requestsBetween(before, after) }
}

/** One request, however long it takes, so that asking is not counted. */
async function watchUntilEnded(
  client: KubeClient,
  backup: { namespace: string; name: string; from: string | undefined },
  signal: AbortSignal,
): Promise<Backup> {
  const terminal = ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation']
  const events = client.resource(BackupKind, backup.namespace).watch({
    resourceVersion: backup.from,
    fieldSelector: `metadata.name=${backup.name}`,
    signal,
  })
  for await (const event of events) {
    if (event.type !== 'BOOKMARK' && terminal.includes(event.object.status?.phase ?? '')) return event.object
  }
  throw new Error('the watch ended')
}

interface Comparison {
  what: string
  ours: Taken
  theirs: Taken
  name: string
}

function reportTimes({ context }: Bench, compared: Comparison & { atMost: number }): void {
  const { what, ours, theirs, name, atMost } = compared
  context.report({
    what,
    ours: { value: ours.seconds, unit: 's' },
    peer: { value: theirs.seconds, unit: 's', name },
    goal: { of: 'ratio', atMost },
  })
}

function reportMemory({ context }: Bench, { what, ours, theirs, name }: Comparison): void {
  context.report({
    what: `${what}, peak memory of the server`,
    ours: { value: ours.serverMiB, unit: 'MiB' },
    peer: { value: theirs.serverMiB, unit: 'MiB', name },
    goal: { of: 'ratio', atMost: 1 },
  })
  context.report({
    what: `${what}, peak memory with plugin processes`,
    ours: { value: ours.treeMiB, unit: 'MiB' },
    peer: { value: theirs.treeMiB, unit: 'MiB', name },
  })
}

function reportRequests({ context }: Bench, { what, ours, theirs, name }: Comparison): void {
  const total = ({ requests }: Taken) => [...requests.values()].reduce((sum, count) => sum + count, 0)
  const byVerb = ({ requests }: Taken) =>
    [...requests]
      .toSorted((a, b) => b[1] - a[1])
      .map(([verb, count]) => `${count} ${verb}`)
      .join(', ')
  context.report({
    what: `${what}, requests to the API server`,
    ours: { value: total(ours), unit: 'requests' },
    peer: { value: total(theirs), unit: 'requests', name },
  })
  context.note(`${what}: ours made ${byVerb(ours)}`)
  context.note(`${what}: ${name} made ${byVerb(theirs)}`)
}

async function noteHow({ context }: Bench): Promise<void> {
  context.note('time from the creation of the Backup object until it is Completed, as a watch sees it')
  context.note(
    'every backup by a server started for it; Lateen bundled, with its defaults and the environment of its image, Velero with velero-plugin-for-aws 1.14.3',
  )
  context.note(
    'requests are what apiserver_request_total gained meanwhile without watches, those of idle controllers included',
  )
  context.note(
    `medians of ${rounds} rounds, contenders in turn; API server, S3 server and contenders on this machine`,
  )
}

/** The one with the median time; memory is the highest of all. */
function medianOf(taken: readonly Taken[]): Taken {
  const sorted = taken.toSorted((a, b) => a.seconds - b.seconds)
  const median = sorted[sorted.length >> 1]
  if (median === undefined) throw new Error('nothing was measured')
  const highest = (of: (peak: MemoryPeak) => number) => Math.max(...taken.map(of))
  return { ...median, serverMiB: highest(peak => peak.serverMiB), treeMiB: highest(peak => peak.treeMiB) }
}
