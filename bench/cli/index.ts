import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Backup, BackupKind } from '@lateen/api'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { bundleLateen } from '../../tools/bundle/bundle.ts'
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts'
import { littleMemory } from '../../tools/image/lateen-image.ts'
import type { BenchContext } from '../run.ts'
import { median, timeProcesses } from './time-processes.ts'
import { timeServerStart } from './time-server-start.ts'

/** `--small` is for trying the bench itself. */
export const flags = ['--small']

const BACKUPS = 20
const namespace = 'velero'

/** How `lateen` can be started. */
interface Programs {
  /** As it is shipped. */
  ours: string[]
  /** Without what V8 has compiled beforehand. */
  uncompiled: string[]
  /** From the checkout: many files, types taken out as they are loaded. */
  source: string[]
  /** Node with nothing to do. */
  node: string[]
  velero: string[]
}

/**
 * How long commands take that do next to nothing, as whole processes on one cluster, all in turns. A missed goal is a row that says no.
 */
export async function bench(context: BenchContext): Promise<void> {
  context.progress('starting a cluster')
  await using cluster = await startCluster(`bench-${process.pid}`, { node: false, s3: false })
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-cli-'))
  try {
    const programs = await preparePrograms(folder)
    await makeBackups(cluster, programs)
    // As people have it: the cluster's own is JSON.
    const kubeconfig = path.join(folder, 'kubeconfig')
    await writeFile(kubeconfig, await cluster.kubectl(['config', 'view', '--raw']))
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder, VELERO_SCRATCH_DIR: folder }
    await benchCommands(context, programs, env)
    await benchServer(context, programs, env)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function preparePrograms(folder: string): Promise<Programs> {
  const [shipped, uncompiled] = [path.join(folder, 'shipped'), path.join(folder, 'uncompiled')]
  const { entry } = await bundleLateen(shipped)
  await cp(shipped, uncompiled, { recursive: true })
  await rm(path.join(uncompiled, 'program.code'))
  const nothing = path.join(folder, 'nothing.cjs')
  await writeFile(nothing, '')
  const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/lateen.js')
  const node = (file: string) => [process.execPath, file]
  return {
    ours: node(path.join(shipped, entry)),
    uncompiled: node(path.join(uncompiled, entry)),
    source: node(launcher),
    node: node(nothing),
    velero: [await tool('velero')],
  }
}

async function makeBackups(cluster: Cluster, { ours }: Programs): Promise<void> {
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfigPath }
  const [program = '', ...args] = ours
  await runCommand(program, [...args, 'install', '--crds-only'], { env })
  await cluster.kubectl(['create', 'namespace', namespace])
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  const backups = client.resource(BackupKind, namespace)
  for (let index = 0; index < BACKUPS; index += 1) await backups.create(backupOf(index))
}

function backupOf(index: number): Backup {
  const day = `2026-01-${String(index + 1).padStart(2, '0')}`
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: `daily-${day}`, namespace },
    spec: { includedNamespaces: ['shop'], storageLocation: 'default' },
    status: {
      phase: 'Completed',
      startTimestamp: `${day}T01:00:00Z`,
      completionTimestamp: `${day}T01:01:00Z`,
      expiration: '2027-01-01T00:00:00Z',
    },
  }
}

async function benchCommands(
  context: BenchContext,
  programs: Programs,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { ours, uncompiled, source, node, velero } = programs
  const get = ['backup', 'get']
  const help = ['backup', 'create', '--help']
  const version = ['version', '--client-only']
  const commands = {
    get: [...ours, ...get],
    getUncompiled: [...uncompiled, ...get],
    getSource: [...source, ...get],
    getVelero: [...velero, ...get],
    help: [...ours, ...help],
    helpVelero: [...velero, ...help],
    version: [...ours, ...version],
    versionVelero: [...velero, ...version],
    node,
  }
  const rounds = context.flags.has('--small') ? 5 : 61
  context.progress(`running each of ${Object.keys(commands).length} commands ${rounds} times`)
  const times = await timeProcesses(commands, { rounds, env, signal: context.signal })
  const ms = (name: keyof typeof commands) => ({ value: median(times[name]), unit: 'ms' })
  const peer = (name: keyof typeof commands) => ({ ...ms(name), name: 'velero' })
  const within = { of: 'ratio', atMost: 1.5 } as const
  context.report({
    what: `backup get, ${BACKUPS} backups`,
    ours: ms('get'),
    peer: peer('getVelero'),
    goal: within,
  })
  context.report({
    what: 'backup create --help, with examples',
    ours: ms('help'),
    peer: peer('helpVelero'),
    goal: { of: 'ours', atMost: 100 },
  })
  context.report({
    what: 'version --client-only',
    ours: ms('version'),
    peer: peer('versionVelero'),
    goal: within,
  })
  context.report({
    what: 'backup get, without compiled code',
    ours: ms('getUncompiled'),
    peer: peer('getVelero'),
  })
  context.report({
    what: 'backup get, from the checkout, second run and later',
    ours: ms('getSource'),
    peer: peer('getVelero'),
  })
  context.report({ what: 'Node with an empty file', ours: ms('node') })
  const fastest = (name: keyof typeof commands) => Math.min(...times[name]).toFixed(1)
  context.note(
    `medians of ${rounds} rounds; in each round every command runs once, in another order each time`,
  )
  context.note(`the fastest \`backup get\` took ${fastest('get')} ms, velero's ${fastest('getVelero')} ms`)
}

/** With the settings of the image. */
async function benchServer(context: BenchContext, { ours }: Programs, env: NodeJS.ProcessEnv): Promise<void> {
  const rounds = context.flags.has('--small') ? 2 : 9
  context.progress(`starting the server ${rounds} times`)
  const args = ['server', '--log-format=json', '--metrics-address=127.0.0.1:0', '--leader-elect=false']
  const start = {
    command: [...ours, ...args],
    env: { ...env, ...littleMemory },
    sign: '"controllers started"',
  }
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) times.push(await timeServerStart(start, context.signal))
  context.report({
    what: 'the server, until its controllers run',
    ours: { value: median(times), unit: 'ms' },
  })
}
