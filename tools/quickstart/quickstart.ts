import type { Cluster } from '../cluster/cluster.ts'
import { installLateen } from '../lateen/install-lateen.ts'
import { runLateen } from '../lateen/run-lateen.ts'
import { type Comparison, compareObjects, type Observed } from './compare-objects.ts'
import { SampleShop, shopNamespace } from './sample-shop.ts'
import type { StepTeller, Tell } from './step-teller.ts'

export interface QuickstartOptions {
  /** With a node and an S3 server, and nothing of Velero in it. */
  cluster: Cluster
  teller: StepTeller
  signal: AbortSignal
}

/** What the quickstart leaves in the cluster. */
export interface Quickstart {
  readonly shop: SampleShop
  /** The shop before it was destroyed. */
  readonly before: readonly Observed[]
  /** The shop as it was restored, and how that differs. */
  readonly after: readonly Observed[]
  readonly comparison: Comparison
}

/** What is backed up, and what it is called. */
const backup = 'shop'
const restore = 'shop-again'
const order = { what: 'an umbrella', count: 1000 }

/**
 * The story: an installation, an application, a backup, a disaster, a plan, a restore, and a look at what came back. Throws a QuickstartError for the
 * step that fails, also when something did not come back, and the signal's reason.
 */
export async function runQuickstart({ cluster, teller, signal }: QuickstartOptions): Promise<Quickstart> {
  const shop = new SampleShop(cluster)
  const lateen = (tell: Tell, ...args: string[]) =>
    runLateen(args, { kubeconfig: cluster.kubeconfigPath, tell, signal })

  await teller.step('Install Lateen into the cluster, from an image made of this checkout', tell =>
    installLateen(cluster, { tell: withoutKinds(tell), signal }),
  )
  const { before, orders } = await teller.step(
    'Deploy the sample application, tools/quickstart/shop',
    async tell => {
      await shop.deploy(tell, signal)
      await shop.takeOrders(order.what, order.count)
      tell(`Its web page says: ${await shop.page()}`)
      return { orders: await countOrders(shop, tell), before: await observe(shop, tell, signal) }
    },
  )
  await teller.step('Back it up, with the files on its volumes', tell =>
    lateen(
      tell,
      ...['backup', 'create', backup, '--include-namespaces', shopNamespace],
      ...['--default-volumes-to-fs-backup', '--wait'],
    ),
  )
  await teller.step('Destroy it: namespace, volumes, kinds, roles', async tell => {
    await shop.destroy()
    tell('All of it is gone')
  })
  await teller.step('Ask what a restore would do', tell =>
    lateen(tell, 'restore', 'plan', '--from-backup', backup),
  )
  await teller.step('Restore it', tell =>
    lateen(tell, 'restore', 'create', restore, '--from-backup', backup, '--wait'),
  )
  await teller.step('See that it runs again', tell => lookAtShop(shop, orders, tell))
  const { after, comparison } = await teller.step(
    'Compare every object with what was there before',
    async tell => {
      const found = await observe(shop, tell, signal)
      return { after: found, comparison: compare(before, found, tell) }
    },
  )
  return { shop, before, after, comparison }
}

/** One line for each kind that is installed would be much. */
function withoutKinds(tell: Tell): Tell {
  return line => {
    if (!line.startsWith('CustomResourceDefinition/')) tell(line)
  }
}

async function observe(shop: SampleShop, tell: Tell, signal: AbortSignal): Promise<Observed[]> {
  const objects = await shop.objects(signal)
  const kinds = new Map<string, number>()
  for (const { kind } of objects) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  const counted = [...kinds].map(([kind, count]) => (count === 1 ? kind : `${count} ${kind}s`))
  tell(`It has ${objects.length} objects: ${counted.join(', ')}`)
  return objects
}

type Orders = Awaited<ReturnType<SampleShop['orders']>>

async function countOrders(shop: SampleShop, tell: Tell): Promise<Orders> {
  const orders = await shop.orders()
  tell(`Its database has ${orders.count} orders, with the sum ${orders.sum}`)
  return orders
}

/** Throws when the database does not have what it had. */
async function lookAtShop(shop: SampleShop, before: Orders, tell: Tell): Promise<void> {
  await shop.running()
  tell('Every pod is ready')
  tell(`Its web page says: ${await shop.page()}`)
  const { count, sum } = await countOrders(shop, tell)
  tell(`Its database tells: ${(await shop.journal()).join(' / ')}`)
  if (count !== before.count || sum !== before.sum) throw new Error('the orders are not what they were')
}

/** Throws when not everything is as it was. */
function compare(before: readonly Observed[], after: readonly Observed[], tell: Tell): Comparison {
  const comparison = compareObjects(before, after)
  const { same, different, missing, added } = comparison
  for (const { object, fields } of different) tell(`${object} differs in ${fields.join(', ')}`)
  for (const object of missing) tell(`${object} is missing`)
  for (const object of added) tell(`${object} is new`)
  const counts = `${same.length} as they were, ${different.length} different, ${missing.length} missing, ${added.length} new`
  if (same.length < before.length || added.length > 0) throw new Error(`not everything came back: ${counts}`)
  tell(`All ${counts}`)
  return comparison
}
