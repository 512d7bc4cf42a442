/** `npm run cluster -- up|down|status|env|logs`: a real Kubernetes cluster on this machine. */
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { ToolError } from '../binaries/tool-error.ts'
import { openCluster, startDetachedCluster, stopCluster } from './cluster.ts'
import { ClusterError } from './cluster-error.ts'
import { filesOf } from './cluster-layout.ts'
import { clusterNames, isRunning, readState } from './cluster-state.ts'
import { controlOf } from './control-client.ts'
import { loadImage } from './node/images.ts'

const usage = `usage: npm run cluster -- COMMAND [--name NAME]
  up [--node] [--s3]   start a cluster; --node lets pods run, --s3 adds an S3 server with a bucket
  down [--all]         stop it and remove every trace (also of a crashed one)
  status               list clusters and their components
  env                  print the variables that kubectl and S3 clients need: eval "$(npm run -s cluster -- env)"
  logs COMPONENT       print a component's log
  load ARCHIVE         import a docker-archive or OCI image archive into the node
`

interface Request {
  name: string
  node: boolean
  s3: boolean
  all: boolean
  argument: string | undefined
}

const commands: Record<string, (request: Request) => Promise<void>> = { up, down, status, env, logs, load }

async function up(request: Request): Promise<void> {
  const started = performance.now()
  const cluster = await startDetachedCluster(request.name, request)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  process.stdout.write(`cluster ${cluster.name} is up after ${seconds} s\n`)
  process.stdout.write(`  export KUBECONFIG=${cluster.kubeconfigPath}\n`)
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
    for (const part of await controlOf(state).status()) {
      process.stdout.write(
        `  ${part.name.padEnd(24)} ${part.running ? `running (pid ${part.pid})` : 'stopped'}\n`,
      )
    }
  }
}

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
      name: { type: 'string', default: 'default' },
      node: { type: 'boolean', default: false },
      s3: { type: 'boolean', default: false },
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
