import path from 'node:path'
import { createKubeClient, type DiscoveredResource, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { tool } from '../binaries/tool.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { untilEstablished } from '../cluster/until-established.ts'
import { waitUntil } from '../cluster/wait-until.ts'
import { postgresImage } from '../image/postgres-image.ts'
import type { Observed } from './compare-objects.ts'
import type { Tell } from './step-teller.ts'

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

  /** Throws the signal's reason. */
  async deploy(tell: Tell, signal: AbortSignal): Promise<void> {
    const { kubectl, deliverImage } = this.#cluster
    const image = await postgresImage(await tool('busybox'))
    await deliverImage(image, signal)
    tell(`The node has the image ${image.name}`)
    await kubectl(['apply', '-f', file('definitions.yaml')])
    await this.definitionServed()
    await kubectl(['apply', '-f', file('shop.yaml')])
    await this.running()
  }

  async definitionServed(): Promise<void> {
    await untilEstablished(this.#cluster, clusterObjects.customresourcedefinitions)
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
    const inDatabase = ['exec', 'database-0', ...place, '-c', 'database', '--']
    return (await kubectl([...inDatabase, '/bin/sh', '-c', visit])).trim()
  }

  /** Writes orders into the first database. */
  async takeOrders(what: string, count: number): Promise<void> {
    await this.#sql(`INSERT INTO orders (what) SELECT '${what} ' || n FROM generate_series(1, ${count}) AS n`)
  }

  /** How many orders the first database has, and a sum over all of them. */
  async orders(): Promise<{ count: number; sum: string }> {
    const rows = await this.#sql("SELECT count(*), md5(string_agg(id || what, ',' ORDER BY id)) FROM orders")
    const [count = '', sum = ''] = (rows[0] ?? '').split('|')
    return { count: Number(count), sum }
  }

  /** What has happened to the first database, as it has written it down itself. */
  async journal(): Promise<string[]> {
    return this.#sql('SELECT line FROM journal ORDER BY id')
  }

  /** What a statement in the first database results in, a line for each row. */
  async #sql(statement: string): Promise<string[]> {
    const run = [
      'exec',
      'database-0',
      '-n',
      shopNamespace,
      '-c',
      'database',
      '--',
      'psql',
      '-qAtc',
      statement,
    ]
    return (await this.#cluster.kubectl(run)).trim().split('\n')
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
