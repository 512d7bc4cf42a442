import path from 'node:path'
import { createKubeClient, type DiscoveredResource, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { Cluster } from '../cluster/cluster.ts'
import { waitUntil } from '../cluster/wait-until.ts'
import type { Observed } from './compare-objects.ts'

const file = (name: string) => path.join(import.meta.dirname, 'shop', name)

/** Where the shop is. */
export const shopNamespace = 'shop'

/** What belongs to the shop, but lies in no namespace. */
const clusterObjects = {
  customresourcedefinitions: 'promotions.shop.example.com',
  clusterroles: 'shop-read-nodes',
  clusterrolebindings: 'shop-read-nodes',
} as const

/** Made anew by the cluster all the time, and never worth a comparison. */
const fleeting = new Set(['events', 'endpoints', 'endpointslices'])

const PATIENCE = '--timeout=180s'

/** The sample application; see the folder `shop` for what it consists of. */
export class SampleShop {
  readonly #cluster: Cluster

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  async deploy(): Promise<void> {
    const { kubectl } = this.#cluster
    await kubectl(['apply', '-f', file('definitions.yaml')])
    await this.definitionServed()
    await kubectl(['apply', '-f', file('shop.yaml')])
    await this.running()
  }

  async definitionServed(): Promise<void> {
    const name = `crd/${clusterObjects.customresourcedefinitions}`
    await this.#cluster.kubectl(['wait', '--for=condition=Established', name, PATIENCE])
  }

  /** Waits until every pod is ready. */
  async running(): Promise<void> {
    for (const name of ['statefulset/database', 'deployment/web']) {
      await this.#cluster.kubectl(['rollout', 'status', name, '-n', shopNamespace, PATIENCE])
    }
  }

  /** Deletes the namespace with everything in it, and what the shop has outside of it, volumes and kinds included. */
  async destroy(): Promise<void> {
    const { kubectl } = this.#cluster
    await kubectl(['delete', 'namespace', shopNamespace, PATIENCE])
    for (const [plural, name] of Object.entries(clusterObjects)) await kubectl(['delete', plural, name])
    await waitUntil(async () => (await this.volumes()).length === 0, {
      timeoutMs: 180_000,
      failure: () => new Error('the volumes of the shop were not removed with its claims'),
    })
  }

  /** The names of the volumes behind its claims. */
  async volumes(): Promise<string[]> {
    const { items } = JSON.parse(await this.#cluster.kubectl(['get', 'persistentvolumes', '-o', 'json']))
    return (items as Volume[])
      .filter(({ spec }) => spec.claimRef?.namespace === shopNamespace)
      .map(({ metadata }) => metadata.name)
  }

  /** Everything that the shop consists of, as the cluster has it now. */
  async objects(signal: AbortSignal): Promise<Observed[]> {
    const config = await loadKubeConfig({ path: this.#cluster.kubeconfigPath })
    await using client = await createKubeClient({ config })
    const types = (await client.discovery.preferred({ signal })).filter(
      ({ verbs, plural }) => verbs.includes('list') && !fleeting.has(plural),
    )
    const found: Observed[] = []
    for (const type of types) found.push(...(await ofType(type, client, signal)))
    return found
  }

  /** What a visitor sees, by the address of the service. */
  async page(): Promise<string> {
    const { kubectl } = this.#cluster
    const place = ['-n', shopNamespace]
    const address = await kubectl(['get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}', ...place])
    // busybox's wget wants to look names up and dies of it.
    const visit = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 30 ${address} 80 | tail -n 1`
    return (await kubectl(['exec', 'database-0', ...place, '--', '/bin/sh', '-c', visit])).trim()
  }

  /** Has the first database write a line on its volume. */
  async write(line: string): Promise<void> {
    const append = ['/bin/sh', '-c', 'echo "$0" >> /data/journal', line]
    await this.#cluster.kubectl(['exec', 'database-0', '-n', shopNamespace, '--', ...append])
  }

  /** What the first database has written on its volume. */
  async journal(): Promise<string[]> {
    const read = ['exec', 'database-0', '-n', shopNamespace, '--', 'cat', '/data/journal']
    return (await this.#cluster.kubectl(read)).trim().split('\n')
  }
}

interface Volume {
  metadata: { name: string }
  spec: { claimRef?: { namespace: string } }
}

async function ofType(
  type: DiscoveredResource,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Observed[]> {
  if (type.namespaced)
    return client.resource(type, shopNamespace).list({ signal }).toArray() as Promise<Observed[]>
  const name =
    type.plural === 'namespaces'
      ? shopNamespace
      : Object.entries(clusterObjects).find(([plural]) => plural === type.plural)?.[1]
  return name === undefined ? [] : [(await client.resource(type).get(name, { signal })) as Observed]
}
