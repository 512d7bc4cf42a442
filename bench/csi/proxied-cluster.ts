import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { loadKubeConfig, type TlsSettings } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'

/** A way to the API server on which writes are counted. */
export interface ProxiedCluster extends AsyncDisposable {
  /** Leads through the proxy, which has the rights of the cluster's administrator. */
  readonly kubeconfigPath: string
  /** Writes so far, by method and resource, such as `PATCH backups`. */
  writes(): ReadonlyMap<string, number>
}

/** Starts a proxy in front of the API server. `folder` is for its kubeconfig. */
export async function proxyCluster(
  { kubeconfigPath }: Pick<Cluster, 'kubeconfigPath'>,
  folder: string,
): Promise<ProxiedCluster> {
  const admin = await loadKubeConfig({ path: kubeconfigPath })
  const counts = new Map<string, number>()
  const proxy = await startProxy({ url: admin.server, tls: admin.tls }, ({ method, url }) => {
    if (method === 'GET' || method === 'HEAD') return
    const what = `${method} ${resourceOf(url)}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  })
  const file = path.join(folder, 'proxied.kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proxied',
    clusters: [{ name: 'proxied', cluster: { server: proxy.url } }],
    contexts: [{ name: 'proxied', context: { cluster: 'proxied', user: 'proxied' } }],
    users: [{ name: 'proxied', user: {} }],
  }
  await writeFile(file, JSON.stringify(config))
  return {
    kubeconfigPath: file,
    writes: () => new Map(counts),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}

interface Proxy extends AsyncDisposable {
  readonly url: string
}

/** Passes requests on as they come, in both directions, so that watches work. */
async function startProxy(
  { url: target, tls }: { url: string; tls: TlsSettings },
  note: (request: { method: string; url: string }) => void,
): Promise<Proxy> {
  const agent = new Agent({ ...tls, keepAlive: true })
  const server = createServer((incoming, response) => {
    const { method = 'GET', url = '/', headers } = incoming
    note({ method, url })
    const outgoing = request(new URL(url, target), { method, headers, agent }, answer => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      response.flushHeaders()
      pipeline(answer, response).catch(() => response.destroy())
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    pipeline(incoming, outgoing).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      agent.destroy()
    },
  }
}

/** What was written between two counts. */
export function writesBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Map<string, number> {
  const differences = [...after].map(([what, count]) => [what, count - (before.get(what) ?? 0)] as const)
  return new Map(differences.filter(([, count]) => count > 0))
}

/** The plural name in a path of the API, with the subresource if there is one. */
function resourceOf(url: string): string {
  const parts = url.replace(/\?.*$/, '').split('/').slice(1)
  const below = parts.slice(parts[0] === 'api' ? 2 : 3)
  const [resource = url, , subresource] =
    below[0] === 'namespaces' && below.length > 2 ? below.slice(2) : below
  return subresource ? `${resource}/${subresource}` : resource
}
