import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { BackupKind, BackupStorageLocationKind } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { tools } from '../../tools/binaries/tool.ts'
import { bundleLateen } from '../../tools/bundle/bundle.ts'
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { type Contender, lateen, velero } from '../backup/contenders.ts'
import { measureProcess } from '../measure-process.ts'
import { locationIsAvailable, prepareServers } from '../restore/prepare.ts'
import type { BenchContext } from '../run.ts'
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts'
import { fillBucket } from './fill-bucket.ts'
import { type Did, runDeletions, runIdleSync, runSync } from './run-sync.ts'

/** `--small` is for trying the bench itself. */
export const flags = ['--small']

const sizes = { small: { backups: 40, deletions: 5 }, usual: { backups: 2_000, deletions: 100 } }

interface Bench {
  context: BenchContext
  cluster: Cluster
  client: KubeClient
  proxy: CountingProxy
  folder: string
  /** The bundled program. */
  entry: string
  ours: Contender
  theirs: Contender
}

/**
 * A bucket full of backups of another cluster: how long a server takes until it shows them, what it asks of the bucket for that, how long
 * the command lines take to list them, and how long their deletion takes. By Lateen and by Velero, each on a copy of its own.
 */
export async function bench(context: BenchContext): Promise<void> {
  context.progress('starting a cluster')
  await using cluster = await startCluster(`bench-${process.pid}`, { node: false, s3: true })
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  await using proxy = await startCountingProxy(cluster.s3.endpoint)
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-lifecycle-'))
  try {
    const bundled = await bundleLateen(path.join(folder, 'bundle'))
    const entry = path.join(folder, 'bundle', bundled.entry)
    const ours = lateen(folder, entry)
    const theirs = velero('Velero 1.18.3, QPS 1000', ['--client-qps=1000', '--client-burst=2000'])
    await benchAll({ context, cluster, client, proxy, folder, entry, ours, theirs })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function benchAll(run: Bench): Promise<void> {
  const { context, cluster, client, proxy, ours, theirs } = run
  const size = context.flags.has('--small') ? sizes.small : sizes.usual
  const servers = [ours, theirs]
  await prepareServers({ cluster, client }, servers, namespace => namespace)
  await makeOriginal(run)
  context.progress(`making ${size.backups} backups`)
  const original = { from: ours.namespace, backup: 'original' }
  const to = servers.map(({ namespace }) => namespace)
  await fillBucket(cluster, { ...original, to, count: size.backups })
  for (const { namespace } of servers) await throughProxy(client, namespace, proxy)

  await compare(run, `show ${size.backups} backups that are in the bucket`, at => runSync(at, size.backups))
  await benchCommands(run, size.backups)
  await compare(run, `look at a bucket of ${size.backups} backups that has nothing new`, runIdleSync)
  const left = size.backups - size.deletions
  await compare(run, `delete ${size.deletions} backups`, at => runDeletions(at, size.deletions, left))
  context.note(
    'from the first listing of the bucket until the cluster has all of them, and from the first request for a deletion until all are gone; one run each, every time by a server started for it',
  )
  context.note('requests to the bucket are counted by a proxy between servers and S3 server')
}

/** One real backup, from which all others are copied. */
async function makeOriginal({ context, cluster, client, ours }: Bench): Promise<void> {
  context.progress('taking the backup to copy')
  const { namespace } = ours
  await using _running = await ours.start(cluster)
  await locationIsAvailable(client, namespace)
  const backups = client.resource(BackupKind, namespace)
  await backups.create({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: 'original', namespace },
    spec: { includedNamespaces: ['kube-system'], storageLocation: 'default' },
  })
  await waitUntil(async () => (await backups.get('original')).status?.phase === 'Completed' || undefined, {
    timeoutMs: 300_000,
    failure: () => new Error('the backup does not end'),
  })
}

/** Servers look at the bucket at their start when the location is known to be Available, and was not looked at. */
async function throughProxy(client: KubeClient, namespace: string, proxy: CountingProxy): Promise<void> {
  const body = {
    spec: { config: { s3Url: proxy.endpoint }, backupSyncPeriod: '1s' },
    status: { phase: 'Available', lastSyncedTime: null },
  }
  await client.resource(BackupStorageLocationKind, namespace).patch('default', { type: 'merge', body })
}

async function compare(
  run: Bench,
  what: string,
  work: (at: {
    cluster: Cluster
    client: KubeClient
    proxy: CountingProxy
    server: Contender
  }) => Promise<Did>,
): Promise<void> {
  const { context, cluster, client, proxy, ours, theirs } = run
  const done: Did[] = []
  for (const server of [ours, theirs]) {
    context.progress(`${what}, ${server.name}`)
    const did = await work({ cluster, client, proxy, server })
    context.progress(
      `  ${did.seconds.toFixed(1)} s, ${did.treeMiB.toFixed(0)} MiB, ${byVerb(did.storeRequests)}`,
    )
    done.push(did)
  }
  const [mine, other] = done
  if (mine === undefined || other === undefined) throw new Error('there are two contenders')
  const row = (name: string, unit: string, of: (did: Did) => number) =>
    context.report({
      what: `${what}${name}`,
      ours: { value: of(mine), unit },
      peer: { value: of(other), unit, name: theirs.name },
      goal: { of: 'ratio', atMost: 1 },
    })
  row('', 's', ({ seconds }) => seconds)
  row(', peak memory of the server', 'MiB', ({ serverMiB }) => serverMiB)
  row(', peak memory with plugin processes', 'MiB', ({ treeMiB }) => treeMiB)
  row(', requests to the bucket', 'requests', ({ storeRequests }) => total(storeRequests))
  row(', requests to the API server', 'requests', ({ apiRequests }) => total(apiRequests))
  context.note(`${what}: ours asked the bucket for ${byVerb(mine.storeRequests)}`)
  context.note(`${what}: ${theirs.name} asked the bucket for ${byVerb(other.storeRequests)}`)
}

/** Whole processes, the faster of three. */
async function benchCommands(run: Bench, backups: number): Promise<void> {
  const { context, cluster, folder, entry, ours, theirs } = run
  const programs = await tools(['velero'])
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfigPath }
  const best = async (command: readonly string[], namespace: string) => {
    const outputFile = path.join(folder, 'output')
    const full = [...command, 'backup', 'get', '--namespace', namespace]
    const times = []
    for (let round = 0; round < 3; round += 1) {
      times.push(await measureProcess(full, { signal: context.signal, outputFile, env }))
    }
    return {
      ms: Math.min(...times.map(({ wallMs }) => wallMs)),
      peakMiB: Math.max(...times.map(({ peakMiB }) => peakMiB)),
    }
  }
  const mine = await best([process.execPath, entry], ours.namespace)
  const other = await best([programs.velero], theirs.namespace)
  const what = `list ${backups} backups by the command line`
  const goal = { of: 'ratio', atMost: 1 } as const
  const name = 'velero backup get'
  context.report({
    what,
    ours: { value: mine.ms, unit: 'ms' },
    peer: { value: other.ms, unit: 'ms', name },
    goal,
  })
  context.report({
    what: `${what}, peak memory`,
    ours: { value: mine.peakMiB, unit: 'MiB' },
    peer: { value: other.peakMiB, unit: 'MiB', name },
    goal,
  })
}

function total(requests: ReadonlyMap<string, number>): number {
  return [...requests.values()].reduce((sum, count) => sum + count, 0)
}

function byVerb(requests: ReadonlyMap<string, number>): string {
  const sorted = [...requests].toSorted((a, b) => b[1] - a[1])
  return sorted.map(([verb, count]) => `${count} ${verb}`).join(', ')
}
