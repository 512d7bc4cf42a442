import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

export interface AggregatedApiOptions {
  group: string
  /** How many types it announces, each with one object named `only`; 'ill' answers every request with 503. */
  types: number | 'ill'
}

/** An API server of somebody else that the cluster's API server has been told about. Disposing makes it forget. */
export async function startAggregatedApi(
  cluster: Cluster,
  { group, types }: AggregatedApiOptions,
): Promise<AsyncDisposable> {
  const server = await listen(answersOf(group, types))
  const { port } = server.address() as AddressInfo
  const name = group.replaceAll('.', '-')
  const objects = [service(name, port), apiService({ group, name, port })]
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
  await cluster.kubectl(['create', '-f', '-'], { stdin })
  await announced(cluster, { group, types })
  return {
    async [Symbol.asyncDispose]() {
      await cluster.kubectl(['delete', '-f', '-'], { stdin })
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Waits until clients hear of the group, or that it is ill. */
async function announced(cluster: Cluster, { group, types }: AggregatedApiOptions): Promise<void> {
  const wanted = types === 'ill' ? 'False' : 'True'
  const condition = `-o=jsonpath={.status.conditions[?(@.type=="Available")].status}`
  await waitUntil(
    async () => (await cluster.kubectl(['get', 'apiservice', `v1.${group}`, condition])) === wanted,
    { timeoutMs: 60_000, failure: () => new Error(`${group} did not become available: ${wanted}`) },
  )
  if (types === 'ill') return
  await waitUntil(
    async () => {
      const names = await cluster.kubectl(['api-resources', `--api-group=${group}`, '-o=name'])
      return names.trim().split('\n').length === types
    },
    { timeoutMs: 120_000, failure: () => new Error(`${group} is not announced`), everyMs: 500 },
  )
}

function service(name: string, port: number) {
  const spec = { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec }
}

/** Says that version v1 of a group is served behind a Service of the namespace `default`. */
export function apiService({ group, name, port = 443 }: { group: string; name: string; port?: number }) {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { name, namespace: 'default', port },
    },
  }
}

/** Answer to the path of a request; undefined for what is not there. */
type Answers = (pathname: string) => object | undefined | 'ill'

function answersOf(group: string, types: number | 'ill'): Answers {
  if (types === 'ill') return () => 'ill'
  const groupVersion = `${group}/v1`
  const plurals = Array.from({ length: types }, (_, index) => `things${index}`)
  const resources = plurals.map((name, index) => ({
    name,
    singularName: `thing${index}`,
    namespaced: true,
    kind: `Thing${index}`,
    verbs: ['list', 'get', 'create', 'delete'],
  }))
  const listOf = (plural: string, namespace: string | undefined) => {
    const kind = `Thing${plural.slice('things'.length)}`
    const metadata = { name: 'only', namespace: 'default' }
    const items =
      namespace === undefined || namespace === 'default' ? [{ apiVersion: groupVersion, kind, metadata }] : []
    return { apiVersion: groupVersion, kind: `${kind}List`, metadata: { resourceVersion: '1' }, items }
  }
  return pathname => {
    const root = `/apis/${groupVersion}`
    if (pathname === root) return { apiVersion: 'v1', kind: 'APIResourceList', groupVersion, resources }
    const [, namespace, plural] =
      /^\/(?:namespaces\/([^/]+)\/)?(things\d+)$/.exec(pathname.slice(root.length)) ?? []
    return pathname.startsWith(root) && plural !== undefined ? listOf(plural, namespace) : undefined
  }
}

async function listen(answers: Answers): Promise<Server> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-aggregated-'))
  const [key, cert] = [path.join(folder, 'key'), path.join(folder, 'cert')]
  await runCommand(await tool('openssl'), [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-keyout', key, '-out', cert],
  ])
  const server = createServer(
    { key: await readFile(key), cert: await readFile(cert) },
    (request, response) => {
      const answer = answers(new URL(request.url ?? '/', 'https://localhost').pathname)
      const status = answer === 'ill' ? 503 : answer === undefined ? 404 : 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify(
          typeof answer === 'object' ? answer : { kind: 'Status', apiVersion: 'v1', code: status },
        ),
      )
    },
  )
  await rm(folder, { recursive: true })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  return server
}
