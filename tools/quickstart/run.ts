/** `npm run quickstart`: a real cluster, an application in it, a backup, a disaster, a restore; told step by step. */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findTool } from '../binaries/tool.ts'
import { ToolError } from '../binaries/tool-error.ts'
import { type Cluster, openCluster, startDetachedCluster, stopCluster } from '../cluster/cluster.ts'
import { ClusterError } from '../cluster/cluster-error.ts'
import { clusterNames } from '../cluster/cluster-state.ts'
import { runQuickstart } from './quickstart.ts'
import { QuickstartError } from './quickstart-error.ts'
import { shopNamespace } from './sample-shop.ts'
import { StepTeller, seconds } from './step-teller.ts'

const usage = `usage: npm run quickstart [-- COMMAND] [--name NAME]
  (none)    start a cluster, install Lateen, deploy an application, back it up, destroy and restore it;
            everything is still there afterwards, unless a step fails or Ctrl-C ends it
              --rm    remove everything in the end, too
              --keep  leave everything as it is even then
  env       print what kubectl, lateen and velero need to look around: eval "$(npm run -s quickstart -- env)"
  down      stop and remove everything
`

interface Request {
  name: string
  keep: boolean
  rm: boolean
}

const commands: Record<string, (request: Request) => Promise<void>> = { up, env, down }

const print = (line: string) => process.stdout.write(`${line}\n`)

async function up({ name, keep, rm }: Request): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new QuickstartError('The quickstart needs root: it starts a node that runs pods', {
      hint: 'Run it as root, or with sudo',
    })
  }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  const { signal } = stop
  const started = performance.now()
  const teller = new StepTeller({ print, now: () => performance.now(), signal })
  teller.say('Lateen on a real cluster: an application is backed up, destroyed, and restored.')
  try {
    const cluster = await teller.step('Start Kubernetes with a node, and an S3 server', tell =>
      start(name, tell),
    )
    await runQuickstart({ cluster, teller, signal })
    teller.say(`\nDone after ${seconds(performance.now() - started)}.`)
  } catch (error) {
    if (signal.aborted) print('\nInterrupted.')
    if (!keep) await remove(name)
    if (!signal.aborted) throw error
    process.exit(130)
  }
  if (rm) await remove(name)
  else teller.say(`\n${whatNow(name)}`)
}

async function start(name: string, tell: (text: string) => void): Promise<Cluster> {
  if ((await clusterNames()).includes(name)) {
    tell('Removing what is left from an earlier run')
    await stopCluster(name)
  }
  const cluster = await startDetachedCluster(name, { node: true, s3: true })
  const { serverVersion } = JSON.parse(await cluster.kubectl(['version', '-o', 'json']))
  tell(
    `Kubernetes ${serverVersion.gitVersion}, with the bucket ${cluster.s3.bucket} at ${cluster.s3.endpoint}`,
  )
  return cluster
}

function whatNow(name: string): string {
  const named = name === defaultName ? '' : ` --name ${name}`
  return `Everything still runs. Look around:
  eval "$(npm run -s quickstart -- env${named})"
  kubectl get all --namespace ${shopNamespace}
  lateen backup describe shop --details
  lateen restore describe shop-again --details
  lateen restore logs shop-again
The velero command works as well, if you have it. Clean up:
  npm run quickstart -- down${named}`
}

async function env({ name }: Request): Promise<void> {
  const cluster = await openCluster(name)
  print(`export KUBECONFIG='${cluster.kubeconfigPath}'`)
  const bin = path.join(import.meta.dirname, '..', '..', 'node_modules', '.bin')
  const programs = await Promise.all((['kubectl', 'velero'] as const).map(findTool))
  const folders = [bin, ...programs.filter(file => file !== undefined).map(file => path.dirname(file))]
  const known = (process.env.PATH ?? '').split(path.delimiter)
  const added = folders.filter(folder => folder === bin || !known.includes(folder))
  print(`export PATH="$PATH:${added.join(path.delimiter)}"`)
}

async function down({ name }: Request): Promise<void> {
  await remove(name)
}

async function remove(name: string): Promise<void> {
  await stopCluster(name)
  print('Everything is removed.')
}

const defaultName = 'quickstart'

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      name: { type: 'string', default: defaultName },
      keep: { type: 'boolean', default: false },
      rm: { type: 'boolean', default: false },
    },
  })
  const command = commands[positionals[0] ?? 'up']
  if (command !== undefined && positionals.length < 2 && !(values.keep && values.rm)) return command(values)
  process.stderr.write(usage)
  process.exitCode = 2
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  const known =
    error instanceof QuickstartError ||
    error instanceof ClusterError ||
    error instanceof ToolError ||
    'code' in (error as object)
  process.stderr.write(`${known ? (error as Error).message : (error as Error).stack}\n`)
  process.exitCode = 1
}
