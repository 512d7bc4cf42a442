import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** Comes and goes by itself. */
const passing = /^(Event|Lease\/kube-)/

/** Kind, namespace and name of every object of every kind that the cluster can list. */
export async function allObjects({ kubectl }: Pick<Cluster, 'kubectl'>): Promise<Set<string>> {
  const kinds = await kubectl(['api-resources', '--verbs=list', '--output=name'])
  const template = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
  const listed = await kubectl([
    'get',
    kinds.trim().split('\n').join(','),
    '--all-namespaces',
    '--ignore-not-found',
    `--output=jsonpath=${template}`,
  ])
  return new Set(listed.split('\n').filter(line => line !== '' && !passing.test(line)))
}

/**
 * The same of a cluster that is left alone, once it has put into its namespaces what it puts there by itself: accounts and certificates come
 * a moment after a namespace, and those of its controllers a moment after its start.
 */
export async function settledObjects(cluster: Pick<Cluster, 'kubectl'>): Promise<Set<string>> {
  let last = new Set<string>()
  let missing: string[] = []
  return waitUntil(
    async () => {
      const now = await allObjects(cluster)
      missing = [...now].flatMap(line => ownOf(line)).filter(line => !now.has(line))
      const isSame = now.symmetricDifference(last).size === 0
      last = now
      return missing.length === 0 && isSame && now
    },
    {
      timeoutMs: 180_000,
      everyMs: 1_000,
      failure: () =>
        new Error(`the cluster does not come to rest; missing: ${missing.join(' ') || 'nothing'}`),
    },
  )
}

/** What every namespace is given, where the object is one. */
function ownOf(line: string): string[] {
  const [, namespace] = /^Namespace\/\/(.+)$/.exec(line) ?? []
  return namespace === undefined
    ? []
    : [`ServiceAccount/${namespace}/default`, `ConfigMap/${namespace}/kube-root-ca.crt`]
}

/** Waits until the cluster holds exactly these objects again; says what is missing or left otherwise. */
export async function backTo(before: ReadonlySet<string>, cluster: Pick<Cluster, 'kubectl'>): Promise<void> {
  let difference = ''
  await waitUntil(
    async () => {
      // A kind may go between being listed and being asked for.
      const now = await allObjects(cluster).catch(() => undefined)
      if (now === undefined) return false
      const left = [...now.difference(before)]
      const missing = [...before.difference(now)]
      difference = `left: ${left.join(' ') || 'nothing'}; missing: ${missing.join(' ') || 'nothing'}`
      return left.length === 0 && missing.length === 0
    },
    // A namespace whose deletion fails at first is tried again after up to a minute.
    { timeoutMs: 240_000, failure: () => new Error(`the cluster is not as it was before, ${difference}`) },
  )
}

/** Flags that make the cluster's S3 the default location, below a prefix. */
export async function s3Flags(
  { s3 }: Pick<Cluster, 's3'>,
  folder: string,
  prefix: string,
): Promise<string[]> {
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3
  const secret = path.join(folder, 'credentials')
  const keys = [`aws_access_key_id=${accessKeyId}`, `aws_secret_access_key=${secretAccessKey}`]
  await writeFile(secret, ['[default]', ...keys, ''].join('\n'))
  return [
    '--provider=aws',
    `--bucket=${bucket}`,
    `--prefix=${prefix}`,
    `--secret-file=${secret}`,
    '--use-volume-snapshots=false',
    `--backup-location-config=s3Url=${endpoint},region=${region},s3ForcePathStyle=true`,
  ]
}

/** What `install` and `uninstall` say became of each object. */
export function outcomes(stdout: string): Map<string, string> {
  const lines = [...stdout.matchAll(/^([A-Za-z]+\/\S+): (created|configured|unchanged|removed)$/gm)]
  return new Map(lines.map(([, id = '', outcome = '']) => [id, outcome]))
}

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')

/** Runs `lateen` until it says a line like this, interrupts it, and returns all it said and its exit code. */
export async function interruptedAt(
  said: RegExp,
  args: readonly string[],
  env: { KUBECONFIG: string; HOME: string },
): Promise<{ lines: string[]; status: number | null }> {
  const child = spawn(process.execPath, [launcher, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (said.test(line)) child.kill('SIGINT')
  }
  const [status] = await ended
  return { lines, status }
}
