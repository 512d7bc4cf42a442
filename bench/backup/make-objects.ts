import type { KubeClient, KubeObject, ResourceType } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { runInParallel } from '../kube/config-map.ts'

const namespaceCount = 20

/** The namespaces that are backed up. */
export const benchNamespaces = Array.from(
  { length: namespaceCount },
  (_, index) => `bench-${String(index).padStart(2, '0')}`,
)

/** As many objects as the bench of Velero had that the goals come from. */
export const usualCounts = { configMaps: 10_000, secrets: 2_000, services: 500, deployments: 500 }

type Maker = (index: number, namespace: string) => KubeObject & Record<string, unknown>

const text = 'The quick brown fox jumps over the lazy dog; '.repeat(27).slice(0, 1_200)

const makers = {
  configMaps: {
    type: { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
    make: (index, namespace) => ({ ...head('v1', 'ConfigMap', { index, namespace }), data: { text } }),
  },
  secrets: {
    type: { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true },
    make: (index, namespace) => ({
      ...head('v1', 'Secret', { index, namespace }),
      stringData: { password: `a password ${index}` },
    }),
  },
  services: {
    type: { group: '', version: 'v1', kind: 'Service', plural: 'services', namespaced: true },
    make: (index, namespace) => ({
      ...head('v1', 'Service', { index, namespace }),
      // Without an address of its own: a test cluster has 254 of them.
      spec: { clusterIP: 'None', selector: { app: `app-${index}` }, ports: [{ port: 80 }] },
    }),
  },
  deployments: {
    type: { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
    make: (index, namespace) => ({
      ...head('apps/v1', 'Deployment', { index, namespace }),
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: `app-${index}` } },
        template: {
          metadata: { labels: { app: `app-${index}` } },
          spec: { containers: [{ name: 'main', image: 'none' }] },
        },
      },
    }),
  },
} satisfies Record<string, { type: ResourceType; make: Maker }>

function head(apiVersion: string, kind: string, { index, namespace }: { index: number; namespace: string }) {
  const name = `object-${String(index).padStart(6, '0')}`
  return { apiVersion, kind, metadata: { name, namespace, labels: { app: `app-${index}`, bench: 'backup' } } }
}

/** Makes the namespaces and, in them, objects `from` to `to` of each kind, in turn over all namespaces. */
export async function makeObjects(
  client: KubeClient,
  { from = {}, to }: { from?: Partial<typeof usualCounts>; to: Partial<typeof usualCounts> },
): Promise<void> {
  for (const kind of Object.keys(makers) as (keyof typeof makers)[]) {
    const { type, make } = makers[kind]
    const first = from[kind] ?? 0
    await runInParallel((to[kind] ?? first) - first, async number => {
      const index = first + number
      const namespace = benchNamespaces[index % namespaceCount] ?? ''
      await client.resource(type, namespace).create(make(index, namespace))
    })
  }
}

/** Makes the namespaces and what the usual bench has in them, and waits until controllers have added their part. */
export async function makeUsualObjects(
  cluster: Cluster,
  client: KubeClient,
  counts: typeof usualCounts = usualCounts,
): Promise<void> {
  const items = benchNamespaces.map(name => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await cluster.kubectl(['apply', '-f', '-'], { stdin })
  await makeObjects(client, { to: counts })
  const count = async (what: string) =>
    (await cluster.kubectl(['get', what, '-A', '-l', 'bench=backup', '-o', 'name'])).split('\n').length - 1
  const wanted = { services: counts.services, deployments: counts.deployments }
  await waitUntil(
    async () =>
      (await count('endpointslices')) >= wanted.services && (await count('endpoints')) >= wanted.services,
    { timeoutMs: 300_000, failure: () => new Error('services have no endpoints'), everyMs: 2_000 },
  )
  await waitUntil(async () => (await replicaSets(cluster)) >= wanted.deployments, {
    timeoutMs: 300_000,
    failure: () => new Error('deployments have no replica sets'),
    everyMs: 2_000,
  })
}

async function replicaSets(cluster: Cluster): Promise<number> {
  return (await cluster.kubectl(['get', 'replicasets', '-A', '-o', 'name'])).split('\n').length - 1
}
