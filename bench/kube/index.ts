import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'esbuild'
import { tool } from '../../tools/binaries/tool.ts'
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts'
import { type Measured, measureProcess } from '../measure-process.ts'
import type { BenchContext } from '../run.ts'
import { concurrency } from './config-map.ts'

/** Even, so that each contender goes first as often as the other. */
const createRounds = 4
const listRounds = 7
const createCount = 10_000
const namespace = 'bench-ours'
const bareNamespace = 'bench-bare'
const spareNamespace = 'bench-spare'
const randomNamespace = 'bench-random'
const listCount = 30_000

/** What a script says on its standard output. */
interface Told {
  count: number
  /** Without the start of the process. */
  ms: number
}

interface Bench {
  context: BenchContext
  cluster: Cluster
  folder: string
}

/**
 * Creates and lists ConfigMaps of 1 KiB on one API server, with our client and with its peers in turn. Every
 * contender is a process of its own; the figure is the median of the rounds.
 */
export async function bench(context: BenchContext): Promise<void> {
  context.progress('starting a cluster')
  await using cluster = await startCluster(`bench-${process.pid}`, { node: false, s3: false })
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-kube-'))
  try {
    const run: Bench = { context, cluster, folder }
    await bundleScripts(folder)
    for (const name of [namespace, bareNamespace, spareNamespace, randomNamespace])
      await cluster.kubectl(['create', 'namespace', name])
    await benchCreates(run)
    await benchLists(run, { namespace, data: 'data that compresses well' })
    context.progress('creating objects that do not compress')
    await runScript(run, 'create-with-lateen.mjs', [randomNamespace, '0', String(listCount), 'random'])
    await benchLists(run, { namespace: randomNamespace, data: 'data that does not compress' })
    await noteVersions(run)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Contenders run as programs are shipped: as one file each, so that no time goes into stripping types. */
async function bundleScripts(folder: string): Promise<void> {
  const names = ['create-with-bare-loop', 'create-with-lateen', 'list-with-lateen', 'list-with-client-node']
  await build({
    entryPoints: names.map(name => path.join(import.meta.dirname, `${name}.ts`)),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'error',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  })
}

async function noteVersions({ context, cluster }: Bench): Promise<void> {
  context.note('times of lists are those of whole processes, from start to end')
  context.note('ours and kubectl ask for gzip; kubectl does not decode the JSON it receives, the others do')
  const require = createRequire(import.meta.url)
  const { version } = require('undici/package.json') as { version: string }
  const { serverVersion } = JSON.parse(await cluster.kubectl(['version', '-o', 'json'])) as {
    serverVersion: { gitVersion: string }
  }
  context.note(
    `Kubernetes ${serverVersion.gitVersion}, undici ${version}, API server and clients on this machine`,
  )
  context.note(
    `medians of ${createRounds} rounds of creates and ${listRounds} of lists, contenders in turn, Node programs bundled`,
  )
}

async function benchCreates(run: Bench): Promise<void> {
  const { context } = run
  const rates: Record<'ours' | 'bare', number[]> = { ours: [], bare: [] }
  context.progress('warming the server up')
  await runScript(run, 'create-with-bare-loop.mjs', [spareNamespace, '0', '2000', 'uniform'])
  for (let round = 0; round < createRounds; round++) {
    context.progress(`creating, round ${round + 1} of ${createRounds}`)
    // Exactly as many objects as are listed afterwards come to lie in that namespace.
    const ours = (round + 1) * createCount <= listCount ? namespace : spareNamespace
    const range = [String(round * createCount), String(createCount), 'uniform']
    const contenders = [
      async () =>
        rates.bare.push(rateOf(await runScript(run, 'create-with-bare-loop.mjs', [bareNamespace, ...range]))),
      async () => rates.ours.push(rateOf(await runScript(run, 'create-with-lateen.mjs', [ours, ...range]))),
    ]
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) await contender()
  }
  context.report({
    what: `create ${createCount} ConfigMaps, ${concurrency} at a time`,
    ours: { value: median(rates.ours), unit: '/s' },
    peer: { value: median(rates.bare), unit: '/s', name: 'bare HTTP loop' },
    goal: { of: 'ratio', atLeast: 0.9 },
  })
}

async function benchLists(run: Bench, listed: { namespace: string; data: string }): Promise<void> {
  const { context } = run
  const ours: (Measured & Told)[] = []
  const kubectl: Measured[] = []
  const clientNode: (Measured & Told)[] = []
  for (let round = 0; round < listRounds; round++) {
    context.progress(`listing, round ${round + 1} of ${listRounds}`)
    const contenders = [
      async () => kubectl.push(await listWithKubectl(run, listed.namespace)),
      async () => ours.push(await runScript(run, 'list-with-lateen.mjs', [listed.namespace])),
      async () => clientNode.push(await runScript(run, 'list-with-client-node.mjs', [listed.namespace])),
    ]
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) await contender()
  }
  const wrong = [...ours, ...clientNode].find(({ count }) => count !== listCount)
  if (wrong !== undefined) throw new Error(`a list has ${wrong.count} objects instead of ${listCount}`)
  const what = `list ${listCount} ConfigMaps, ${listed.data}`
  const peers = [
    { name: 'kubectl get --raw > file', measured: kubectl, goal: { of: 'ratio', atMost: 1 } as const },
    { name: '@kubernetes/client-node', measured: clientNode, goal: undefined },
  ]
  const milliseconds = (values: number[]) => ({ value: median(values), unit: 'ms' })
  const wall = (measured: Measured[]) => milliseconds(measured.map(({ wallMs }) => wallMs))
  const peak = (measured: Measured[]) => ({
    value: median(measured.map(({ peakMiB }) => peakMiB)),
    unit: 'MiB',
  })
  for (const { name, measured, goal } of peers) {
    context.report({ what, ours: wall(ours), peer: { ...wall(measured), name }, ...(goal && { goal }) })
    const memory = { what: `${what}, peak memory`, ours: peak(ours), peer: { ...peak(measured), name } }
    context.report({ ...memory, ...(goal && { goal: { of: 'ours', atMost: 200 } as const }) })
  }
  const alone = (measured: Told[]) => median(measured.map(({ ms }) => ms)).toFixed()
  context.note(
    `${listed.data}, the list without the start of Node: ${alone(ours)} ms ours, ${alone(clientNode)} ms client-node`,
  )
}

async function runScript(run: Bench, script: string, args: readonly string[]): Promise<Measured & Told> {
  const outputFile = path.join(run.folder, 'stdout')
  const command = [process.execPath, path.join(run.folder, script), run.cluster.kubeconfigPath, ...args]
  const measured = await measureProcess(command, { outputFile, signal: run.context.signal })
  return { ...measured, ...(JSON.parse(await readFile(outputFile, 'utf8')) as Told) }
}

async function listWithKubectl({ cluster, folder, context }: Bench, namespace: string): Promise<Measured> {
  const where = `/api/v1/namespaces/${namespace}/configmaps`
  const command = [await tool('kubectl'), '--kubeconfig', cluster.kubeconfigPath, 'get', '--raw', where]
  return measureProcess(command, { outputFile: path.join(folder, 'raw.json'), signal: context.signal })
}

function rateOf({ count, ms }: Told): number {
  return (count / ms) * 1000
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = low] = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  return (low + high) / 2
}
