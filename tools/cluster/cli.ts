/** `npm run cluster -- up|down|status|env|logs`: a real Kubernetes cluster on this machine. */
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { ToolError } from '../binaries/tool-error.ts'
import { type Cluster, openCluster, startDetachedCluster, stopCluster } from './cluster.ts'
import { ClusterError } from './cluster-error.ts'
import { filesOf } from './cluster-layout.ts'
import { type ClusterState, clusterNames, isRunning, readState } from './cluster-state.ts'
import { controlOf } from './control-client.ts'
import { loadImage } from './node/images.ts'

const usage = `usage: npm run cluster -- COMMAND [--name NAME]
  up [--node] [--s3] [--csi] [--install]
                       start a cluster; --node lets pods run, --s3 adds an S3 server with a bucket, --csi a CSI driver
                       with snapshots on the node, and --install, which needs node and bucket, puts Lateen into it, made
                       from this checkout, node agent included, with the bucket as its default location
  down [--all]         stop it and remove every trace (also of a crashed one)
  status               list clusters and their components
  env                  print the variables that kubectl and S3 clients need: eval "$(npm run -s cluster -- env)"
  logs COMPONENT       print a component's log
  load ARCHIVE         import a docker-archive or OCI image archive into the node
`

const defaultName = 'default'

interface Request {
  name: string
  node: boolean
  s3: boolean
  csi: boolean
  install: boolean
  all: boolean
  argument: string | undefined
}

const commands: Record<string, (request: Request) => Promise<void>> = { up, down, status, env, logs, load }

async function up(request: Request): Promise<void> {
  const { name, install } = request
  if (install && !(request.node && request.s3)) {
    throw new ClusterError(
      'CLUSTER_UNAVAILABLE',
      'Lateen cannot be installed into a cluster without node and bucket',
      {
        hint: 'Say: npm run cluster -- up --node --s3 --install',
      },
    )
  }
  const started = performance.now()
  const cluster = await startDetachedCluster(name, request, async each => {
    if (install) await installInto(each)
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  process.stdout.write(`cluster ${cluster.name} is up after ${seconds} s\n${whatNow(cluster, install)}`)
}

/** Only who installs pays for what it takes. */
async function installInto(cluster: Cluster): Promise<void> {
  const { installLateen } = await import('../lateen/install-lateen.ts')
  await installLateen(cluster, { tell: line => process.stdout.write(`${line}\n`) })
}

function whatNow({ name, kubeconfigPath }: Cluster, installed: boolean): string {
  const named = name === defaultName ? '' : ` --name ${name}`
  const lines = [
    `export KUBECONFIG=${kubeconfigPath}`,
    `eval "$(npm run -s cluster -- env${named})"    # the same, and what S3 clients need`,
    ...(installed
      ? [
          'kubectl get pods --namespace velero',
          'npx lateen backup create first --include-namespaces default --wait',
        ]
      : ['kubectl get namespaces']),
    `npm run cluster -- down${named}`,
  ]
  return `What to do now:\n${lines.map(line => `  ${line}\n`).join('')}`
}

async function down(request: Request): Promise<void> {
  const names = request.all ? await clusterNames() : [request.name]
  for (const name of names) {
    await stopCluster(name)
    process.stdout.write(`cluster ${name} is down\n`)
  }
}

async function status(): Promise<void> {
  const names = await clusterNames()
  if (names.length === 0) process.stdout.write('no clusters\n')
  for (const name of names) {
    const state = await readState(name)
    if (!state || !(await isRunning(state))) {
      process.stdout.write(`${name}: left over from a crash; the next "up" or "down" clears it\n`)
      continue
    }
    process.stdout.write(`${name}: https://127.0.0.1:${state.ports.apiServer}\n`)
    for (const line of await componentLines(state)) process.stdout.write(`  ${line}\n`)
  }
}

async function componentLines(state: ClusterState): Promise<string[]> {
  try {
    const parts = await controlOf(state).status()
    return parts.map(
      ({ name, running, pid }) => `${name.padEnd(24)} ${running ? `running (pid ${pid})` : 'stopped'}`,
    )
  } catch (error) {
    if (!unheard.has((error as NodeJS.ErrnoException).code)) throw error
    return ['starts or stops just now']
  }
}

/** The supervisor does not listen yet, or no longer. */
const unheard: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET'])

async function env(request: Request): Promise<void> {
  const cluster = await openCluster(request.name)
  const variables: Record<string, string> = { KUBECONFIG: cluster.kubeconfigPath }
  if (cluster.plan.s3) {
    Object.assign(variables, {
      AWS_ENDPOINT_URL: cluster.s3.endpoint,
      AWS_REGION: cluster.s3.region,
      AWS_ACCESS_KEY_ID: cluster.s3.accessKeyId,
      AWS_SECRET_ACCESS_KEY: cluster.s3.secretAccessKey,
      LATEEN_S3_BUCKET: cluster.s3.bucket,
    })
  }
  for (const [name, value] of Object.entries(variables)) process.stdout.write(`export ${name}='${value}'\n`)
}

async function logs(request: Request): Promise<void> {
  const { plan } = await openCluster(request.name)
  const names = (await controlOf(plan).status()).map(part => part.name)
  if (!request.argument || !names.includes(request.argument)) {
    throw new ClusterError(
      'CLUSTER_NOT_FOUND',
      `there is no component ${request.argument ?? '(none named)'}`,
      {
        hint: `Choose one of: ${names.join(', ')}`,
      },
    )
  }
  await pipeline(createReadStream(filesOf(plan).log(request.argument)), process.stdout, { end: false })
}

async function load(request: Request): Promise<void> {
  const { plan } = await openCluster(request.name)
  if (!request.argument) throw new ClusterError('CLUSTER_FAILED', 'no archive was named', { hint: usage })
  await loadImage(plan, request.argument)
}

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      name: { type: 'string', default: defaultName },
      node: { type: 'boolean', default: false },
      s3: { type: 'boolean', default: false },
      csi: { type: 'boolean', default: false },
      install: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
    },
  })
  const command = commands[positionals[0] ?? '']
  if (!command) {
    process.stderr.write(usage)
    process.exitCode = 2
    return
  }
  await command({ ...values, argument: positionals[1] })
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  const known = error instanceof ClusterError || error instanceof ToolError || 'code' in (error as object)
  process.stderr.write(`${known ? (error as Error).message : (error as Error).stack}\n`)
  process.exitCode = 1
}
