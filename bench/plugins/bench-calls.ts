import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Backup } from '@lateen/api'
import { silentLogger } from '@lateen/kube'
import type { ActionItem, BackupItemAction } from '@lateen/plugin'
import { podAction } from '../../packages/server/src/builtin-actions/pod-action.ts'
import { noBuiltInPlugins } from '../../packages/server/src/plugin-host/built-in-plugins.ts'
import { discoverPrograms } from '../../packages/server/src/plugin-host/discover-programs.ts'
import { createPluginRegistry } from '../../packages/server/src/plugin-host/plugin-registry.ts'
import { createProgramLauncher } from '../../packages/server/src/plugin-host/program-launcher.ts'
import { tool } from '../../tools/binaries/tool.ts'
import type { BenchContext } from '../run.ts'
import { writeScriptProgram } from './script-program.ts'

const name = 'velero.io/pod'

const pod: ActionItem = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'shop',
    labels: { app: 'web' },
    annotations: { note: 'x'.repeat(500) },
  },
  spec: {
    priorityClassName: 'high',
    containers: [{ name: 'main', image: 'web', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  },
}
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }

/** Calls of one action a second: in Velero's own program through our host, and in our process. */
export async function benchCalls(
  context: BenchContext,
  { folder, calls }: { folder: string; calls: number },
): Promise<void> {
  const plugins = path.join(folder, 'call-plugins')
  await mkdir(plugins, { recursive: true })
  await writeScriptProgram(path.join(plugins, 'velero'), [await tool('velero'), 'run-plugins'])
  await using launcher = await createProgramLauncher({
    ...{ env: process.env, namespace: 'velero', logLevel: 'warn', features: [] },
    ...{ pid: process.pid, isAlive: () => true },
  })
  const discovery = { folder: plugins, launcher, log: silentLogger, signal: context.signal }
  const external = { programs: await discoverPrograms(discovery), launcher, prefer: false }
  const builtIns = () => noBuiltInPlugins
  const inProcess = { ...noBuiltInPlugins, backupItemActions: [{ name, action: podAction }] }
  await using hosted = createPluginRegistry({ builtIns, external }).open({ log: silentLogger })
  await using own = createPluginRegistry({ builtIns: () => inProcess }).open({ log: silentLogger })
  for (const atOnce of [1, 8]) {
    context.progress(`${calls} calls, ${atOnce} at once`)
    const ours = await callsPerSecond(hosted.backupItemAction(name), { calls, atOnce })
    // Hundreds of times faster, so that it needs more of them to be seen.
    const peer = await callsPerSecond(own.backupItemAction(name), { calls: calls * 20, atOnce })
    context.report({
      what: `calls of ${name} in velero run-plugins, ${atOnce} at once`,
      ours: { value: ours, unit: 'calls/s' },
      peer: { value: peer, unit: 'calls/s', name: 'in our process' },
    })
  }
  context.note(
    `calls: execute on a Pod of ${JSON.stringify(pod).length} bytes, ${calls} after as many to warm up`,
  )
}

async function callsPerSecond(
  action: BackupItemAction,
  { calls, atOnce }: { calls: number; atOnce: number },
): Promise<number> {
  const run = async () => {
    let left = calls
    const worker = async () => {
      while (left > 0) {
        left -= 1
        await action.execute({ item: pod, backup })
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
  }
  await run()
  const started = performance.now()
  await run()
  return (calls * 1000) / (performance.now() - started)
}
