import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Lease, LeaseKind, loadKubeConfig } from '@lateen/kube'
import type { ServerOptions } from '@lateen/server'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { isWrite, type RecordedRequest, type RecordingProxy, startRecordingProxy } from './recording-proxy.ts'
import { launchServer, type RunningServer } from './storage-location-harness.ts'

/** Long enough for a machine that is busy with other things, short enough for a test. */
export const quickLease: ServerOptions['lease'] = { duration: 10_000, renewDeadline: 8_000, retryPeriod: 500 }

/** Nobody outlives this lease: only one that is given back can be taken. */
export const endlessLease: ServerOptions['lease'] = {
  duration: 3_600_000,
  renewDeadline: 30_000,
  retryPeriod: 500,
}

/** A server that competes for the lease, and everything that it asks for. */
export interface Candidate extends RunningServer {
  readonly name: string
  /** Between it and the API server. */
  readonly api: RecordingProxy
  /** What it asked the cluster and the bucket to change since then, in order; its lease is left out. */
  writesSince(at: number): RecordedRequest[]
}

/** A scene for several servers. What they ask for goes through proxies that remember it. */
export interface LeaderScene extends AsyncDisposable {
  readonly scene: ServerScene
  /** Starts a server and does not wait for it. */
  launch(name: string, options?: Partial<ServerOptions>): Promise<Candidate>
  /** Starts a server that nobody competes with, and waits until it works. */
  lead(name: string, options?: Partial<ServerOptions>): Promise<Candidate>
  /** Starts a server while another one leads, and waits until it stands by. */
  standBy(name: string, options?: Partial<ServerOptions>): Promise<Candidate>
  lease(): Promise<Lease>
}

/** Prepares a cluster for the tests of one file. Disposing removes all of it. */
export async function openLeaderScene(cluster: Cluster, prefix: string): Promise<LeaderScene> {
  const undo = new AsyncDisposableStack()
  const bucket = undo.use(await startRecordingProxy({ url: cluster.s3.endpoint }))
  const scene = undo.use(await openServerScene(cluster, prefix, { s3Url: bucket.url }))
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-candidates-'))
  undo.defer(() => rm(folder, { recursive: true, force: true }))
  const admin = await loadKubeConfig({ path: cluster.kubeconfigPath })

  async function launch(name: string, options: Partial<ServerOptions> = {}): Promise<Candidate> {
    const api = undo.use(await startRecordingProxy({ url: admin.server, tls: admin.tls }))
    const kubeconfig = path.join(folder, `${name}.json`)
    await writeFile(kubeconfig, kubeconfigFor(api.url))
    const all = {
      ...{ namespace: scene.namespace, kubeconfig, scratchFolder: scene.scratch },
      ...{ leaderElection: true, lease: quickLease, storeValidationFrequency: 0 },
      ...options,
    }
    const server = undo.use(launchServer(all, { AWS_SDK_UA_APP_ID: name }))
    const isOwn = ({ userAgent }: RecordedRequest) => userAgent.split(' ').includes(`app/${name}`)
    const writesSince = (since: number) =>
      [...api.requests, ...bucket.requests.filter(isOwn)]
        .filter(request => request.at >= since && isWrite(request) && !isOfLease(request))
        .sort((a, b) => a.at - b.at)
    return Object.defineProperties(server, {
      name: { value: name },
      api: { value: api },
      writesSince: { value: writesSince },
    }) as Candidate
  }

  return {
    scene,
    launch,
    async lead(name, options) {
      const candidate = await launch(name, options)
      await candidate.said('controllers started')
      await scene.locations.available('default')
      return candidate
    },
    async standBy(name, options) {
      const candidate = await launch(name, options)
      await waitUntil(async () => candidate.log.some(({ state }) => state === 'standby'), {
        timeoutMs: 120_000,
        failure: () =>
          new Error(
            `${name} does not stand by:\n${candidate.log.map(line => JSON.stringify(line)).join('\n')}`,
          ),
        everyMs: 20,
      })
      return candidate
    },
    lease: () => scene.client.resource(LeaseKind, scene.namespace).get('lateen-server'),
    [Symbol.asyncDispose]: () => undo.disposeAsync(),
  }
}

/** The proxy says who we are. */
function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proxy',
    clusters: [{ name: 'proxy', cluster: { server } }],
    users: [{ name: 'nobody', user: {} }],
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'nobody' } }],
  })
}

function isOfLease({ url }: RecordedRequest): boolean {
  return url.startsWith('/apis/coordination.k8s.io/')
}

/** In words. */
export function describeWrites(writes: readonly RecordedRequest[]): string {
  return writes.map(({ method, url }) => `${method} ${url}`).join('\n')
}

/** Where the main thread of a stopped process is, if the kernel tells. */
export async function placeOf({ pid }: RunningServer): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/syscall`, 'utf8').catch(() => '')
  return text.trim().split(' ').at(-1)
}
