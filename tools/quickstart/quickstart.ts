import type { Cluster } from '../cluster/cluster.ts'
import { type Comparison, compareObjects, type Observed } from './compare-objects.ts'
import { type LateenServer, startLateenServer } from './lateen-server.ts'
import { runLateen } from './run-lateen.ts'
import { SampleShop, shopNamespace } from './sample-shop.ts'
import type { StepTeller, Tell } from './step-teller.ts'

export interface QuickstartOptions {
  /** With a node and an S3 server, and nothing of Velero in it. */
  cluster: Cluster
  teller: StepTeller
  signal: AbortSignal
}

/** What the quickstart leaves in the cluster, of which the server counts as a part. */
export interface Quickstart {
  readonly server: LateenServer
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
const order = 'order 1: an umbrella'

/**
 * The story: a server, an application, a backup, a disaster, a plan, a restore, and a look at what came back. Throws a QuickstartError for the
 * step that fails, also when something did not come back, and the signal's reason.
 */
export async function runQuickstart({ cluster, teller, signal }: QuickstartOptions): Promise<Quickstart> {
  const shop = new SampleShop(cluster)
  const lateen = (tell: Tell, ...args: string[]) =>
    runLateen(args, { kubeconfig: cluster.kubeconfigPath, tell })

  const server = await teller.step(
    "Start Lateen's server on this machine, with a bucket for its backups",
    tell => startServer(cluster, (...args) => lateen(withoutKinds(tell), ...args)),
  )
  const before = await teller.step('Deploy the sample application, tools/quickstart/shop', async tell => {
    await shop.deploy()
    await shop.write(order)
    tell(`Its web page says: ${await shop.page()}`)
    tell(`Written on a volume of its database: ${order}`)
    return observe(shop, tell, signal)
  })
  await teller.step('Back it up', tell =>
    lateen(tell, 'backup', 'create', backup, '--include-namespaces', shopNamespace, '--wait'),
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
  await teller.step('See that it runs again', tell => lookAtShop(shop, tell))
  const { after, comparison } = await teller.step(
    'Compare every object with what was there before',
    async tell => {
      const found = await observe(shop, tell, signal)
      return { after: found, comparison: compare(before, found, tell) }
    },
  )
  return { server, shop, before, after, comparison }
}

async function startServer(
  cluster: Cluster,
  lateen: (...args: string[]) => Promise<string>,
): Promise<LateenServer> {
  const { kubectl, s3 } = cluster
  const inVelero = ['-n', 'velero']
  await lateen('install', '--crds-only')
  await kubectl(['create', 'namespace', 'velero'])
  const keys = `aws_access_key_id=${s3.accessKeyId}\naws_secret_access_key=${s3.secretAccessKey}`
  const secret = ['create', 'secret', 'generic', 'bucket', `--from-literal=keys=[default]\n${keys}\n`]
  await kubectl([...secret, ...inVelero])
  await lateen(
    ...['backup-location', 'create', 'default', '--default', '--provider=aws', `--bucket=${s3.bucket}`],
    ...[
      `--config=region=${s3.region},s3ForcePathStyle=true,s3Url=${s3.endpoint}`,
      '--credential=bucket=keys',
    ],
  )
  const server = await startLateenServer(cluster)
  const available = '--for=jsonpath={.status.phase}=Available'
  await kubectl(['wait', available, 'backupstoragelocation/default', '--timeout=60s', ...inVelero])
  await lateen('backup-location', 'get')
  return server
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

async function lookAtShop(shop: SampleShop, tell: Tell): Promise<void> {
  await shop.running()
  tell('Every pod is ready')
  tell(`Its web page says: ${await shop.page()}`)
  const journal = await shop.journal()
  tell(`On the volume of its database: ${journal.join(' / ')}`)
  if (journal.includes(order)) return
  tell(
    `"${order}" is not there: the volume is a new one. What is on volumes is not backed up yet, objects only.`,
  )
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
