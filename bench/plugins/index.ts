import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { tool } from '../../tools/binaries/tool.ts'
import { bundleLateen } from '../../tools/bundle/bundle.ts'
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts'
import { type Contender, lateen, velero } from '../backup/contenders.ts'
import { benchNamespaces, makeUsualObjects, usualCounts } from '../backup/make-objects.ts'
import { prepareServers } from '../restore/prepare.ts'
import type { BenchContext } from '../run.ts'
import { benchCalls } from './bench-calls.ts'
import { writeScriptProgram } from './script-program.ts'
import { type Taken, takeBackup } from './take-backup.ts'

/** `--small` is for trying the bench itself; the others leave out a part of it. */
export const flags = ['--small', '--no-calls', '--no-backups', '--no-operations']

interface Size {
  calls: number
  counts: typeof usualCounts
  rounds: number
  /** How long each operation takes. */
  operationSeconds: number
}

const sizes = {
  small: {
    calls: 300,
    counts: { configMaps: 280, secrets: 60, services: 40, deployments: 40 },
    rounds: 1,
    operationSeconds: 15,
  },
  full: { calls: 5_000, counts: usualCounts, rounds: 3, operationSeconds: 60 },
} satisfies Record<string, Size>

interface Bench {
  context: BenchContext
  cluster: Cluster
  client: KubeClient
  size: Size
  count: number
}

/** What plugins in programs cost: one call, the actions of a backup, and operations that a backup waits for. */
export async function bench(context: BenchContext): Promise<void> {
  const size: Size = context.flags.has('--small') ? sizes.small : sizes.full
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-plugins-'))
  try {
    if (!context.flags.has('--no-calls')) await benchCalls(context, { folder, calls: size.calls })
    const clusterParts = ['--no-backups', '--no-operations'].filter(flag => !context.flags.has(flag))
    if (clusterParts.length > 0) await benchServers(context, { folder, size })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function benchServers(
  context: BenchContext,
  { folder, size }: { folder: string; size: Size },
): Promise<void> {
  context.progress('starting a cluster')
  await using cluster = await startCluster(`bench-${process.pid}`, { node: false, s3: true })
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  const servers = await serversIn(folder, { cluster, operationSeconds: size.operationSeconds })
  await prepareServers({ cluster, client }, Object.values(servers), namespace => namespace)
  context.progress('making objects')
  await makeUsualObjects(cluster, client, size.counts)
  const run: Bench = { context, cluster, client, size, count: 0 }
  if (!context.flags.has('--no-backups')) await benchBackups(run, servers)
  if (!context.flags.has('--no-operations')) await benchOperations(run, servers)
  context.note(
    'Lateen bundled, with its defaults and the environment of its image; Velero with velero-plugin-for-aws 1.14.3; a new server for each backup',
  )
}

type Servers = Record<'builtIn' | 'hosted' | 'theirs' | 'waiting' | 'theirsWaiting', Contender>

async function serversIn(
  folder: string,
  { cluster, operationSeconds }: { cluster: Cluster; operationSeconds: number },
): Promise<Servers> {
  const { entry } = await bundleLateen(path.join(folder, 'bundle'))
  const program = path.join(folder, 'bundle', entry)
  const plugins = (name: string) => path.join(folder, `plugins-${name}`)
  for (const name of ['actions', 'waiting']) await mkdir(plugins(name))
  const env = { KUBECONFIG: cluster.kubeconfigPath }
  const actions = [await tool('velero'), 'run-plugins']
  await writeScriptProgram(path.join(plugins('actions'), 'velero'), actions, env)
  const source = path.join(import.meta.dirname, 'waiting-plugin.ts')
  const waiting = await writeScriptProgram(
    path.join(plugins('waiting'), 'waiting'),
    [process.execPath, source],
    { LATEEN_BENCH_SECONDS: String(operationSeconds) },
  )
  const withPlugins = (name: string) => ['--plugin-dir', plugins(name), '--prefer-external-plugins']
  return {
    builtIn: lateen(folder, program, { flags: ['--plugin-dir', path.join(folder, 'none')] }),
    hosted: lateen(folder, program, { name: "Lateen with Velero's actions", flags: withPlugins('actions') }),
    theirs: velero('Velero 1.18.3', []),
    waiting: lateen(folder, program, { flags: withPlugins('waiting') }),
    theirsWaiting: velero('Velero 1.18.3', ['--client-qps=1000', '--client-burst=2000'], [waiting]),
  }
}

async function benchBackups(run: Bench, { builtIn, hosted, theirs }: Servers): Promise<void> {
  const { context, size } = run
  const taken = new Map<Contender, Taken[]>([builtIn, hosted, theirs].map(server => [server, []]))
  for (let round = 0; round < size.rounds; round += 1) {
    for (const server of round % 2 === 0 ? taken.keys() : [...taken.keys()].reverse()) {
      context.progress(`round ${round + 1} of ${size.rounds}: ${server.name}`)
      taken.get(server)?.push(await backUp(run, server))
    }
  }
  const own = medianOf(taken.get(builtIn))
  const other = medianOf(taken.get(hosted))
  const peer = medianOf(taken.get(theirs))
  if (own.items !== other.items)
    context.note(`with Velero's actions ${other.items} items, without ${own.items}`)
  const what = `back up ${own.items} items, actions of velero run-plugins under Lateen`
  const row = (more: string, value: (of: Taken) => number, unit: string) => {
    const ours = { value: value(other), unit }
    context.report({
      what: `${what}${more}`,
      ours,
      peer: { value: value(own), unit, name: 'Lateen, built-in' },
    })
    context.report({ what: `${what}${more}`, ours, peer: { value: value(peer), unit, name: theirs.name } })
  }
  row('', of => of.seconds, 's')
  row(', peak memory with plugin processes', of => of.treeMiB, 'MiB')
  context.note(
    `backups: medians of ${size.rounds} rounds, contenders in turn; the highest memory of all rounds`,
  )
}

async function benchOperations(run: Bench, { waiting, theirsWaiting }: Servers): Promise<void> {
  const { context, size } = run
  const spec = {
    includedNamespaces: benchNamespaces,
    includedResources: ['configmaps'],
    labelSelector: benched,
  }
  context.progress(`${size.counts.configMaps} operations: Lateen`)
  const ours = await backUp(run, waiting, spec)
  context.progress(`${size.counts.configMaps} operations: Velero`)
  const theirs = await backUp(run, theirsWaiting, spec)
  const count = ours.status.backupItemOperationsCompleted ?? 0
  const what = `wait for ${count} operations`
  const row = (more: string, value: (of: Taken) => number, unit: string) =>
    context.report({
      what: `${what}, ${more}`,
      ours: { value: value(ours), unit },
      peer: { value: value(theirs), unit, name: theirsWaiting.name },
    })
  row('writes to the API server', of => (of.waiting?.writes ?? 0) / (of.waiting?.seconds ?? 1), 'writes/s')
  row('time until it is Completed', of => of.waiting?.seconds ?? 0, 's')
  row('peak memory of the server', of => of.serverMiB, 'MiB')
  row('peak memory with plugin processes', of => of.treeMiB, 'MiB')
  row('the whole backup', of => of.seconds, 's')
  context.note(
    `operations: one for each ConfigMap, ${size.operationSeconds} s each, polled every 10 s; Velero with QPS 1000; writes of idle controllers included`,
  )
}

const benched = { matchLabels: { bench: 'backup' } }

function backUp(
  run: Bench,
  server: Contender,
  spec: Parameters<typeof takeBackup>[0]['spec'] = { includedNamespaces: benchNamespaces },
): Promise<Taken> {
  const { cluster, client, context } = run
  run.count += 1
  return takeBackup({ server, name: `bench-${run.count}`, spec }, { cluster, client, signal: context.signal })
}

/** The one with the median time; memory is the highest of all. */
function medianOf(taken: readonly Taken[] = []): Taken {
  const sorted = taken.toSorted((a, b) => a.seconds - b.seconds)
  const median = sorted[sorted.length >> 1]
  if (median === undefined) throw new Error('nothing was measured')
  const highest = (of: (each: Taken) => number) => Math.max(...taken.map(of))
  return { ...median, serverMiB: highest(each => each.serverMiB), treeMiB: highest(each => each.treeMiB) }
}
