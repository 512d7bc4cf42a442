import type { DataMoverWork } from '@lateen/server'
import { version } from '../build-info.ts'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { moverFlags } from '../tree/in-cluster.ts'
import { logLevelOf } from './log-level.ts'

/** Where Kubernetes reads what a container says last. */
const TERMINATION_LOG = '/dev/termination-log'

/** For who calls it without the flag; node agents give it. */
const RESOURCE_TIMEOUT_MS = 600_000

/** Moves the data of one volume as the object of that name says, and ends. */
export async function moveVolume(
  work: DataMoverWork,
  call: Pick<CommandCall<typeof moverFlags>, 'flags' | 'settings' | 'surroundings'> & {
    name: string | undefined
    /** The flag that says it. */
    nameFlag: string
    /** What volumes may be like; a folder where nothing is said. */
    volumeMode?: string | undefined
    cacheVolume?: string | undefined
  },
): Promise<CommandResult> {
  const { flags, surroundings, name, nameFlag, cacheVolume, volumeMode = 'Filesystem' } = call
  const volumePath = flags['volume-path']
  if (!name || !volumePath) {
    throw new CliError('USAGE', `--${nameFlag} and --volume-path are required`, {
      hint: 'node agents start this command in pods of their own',
    })
  }
  if (volumeMode !== 'Filesystem' && volumeMode !== 'Block') {
    throw new CliError('USAGE', `--volume-mode is ${JSON.stringify(volumeMode)}`, {
      hint: 'volumes are Filesystem or Block',
    })
  }
  const { namespace, kubeconfig, kubecontext } = await call.settings()
  const { runDataMover } = await import('@lateen/server')
  const went = await runDataMover(
    {
      ...{ work, namespace, kubeconfig, kubecontext, name, volumePath, volumeMode, cacheVolume, version },
      node: surroundings.env.NODE_NAME ?? '',
      resourceTimeout: flags['resource-timeout']?.milliseconds ?? RESOURCE_TIMEOUT_MS,
      logLevel: logLevelOf(flags['log-level']),
      logFormat: flags['log-format'] === 'json' ? 'json' : 'text',
      terminationLog: surroundings.env.LATEEN_TERMINATION_LOG ?? TERMINATION_LOG,
    },
    surroundings.signal,
  )
  return { show: 'lines', lines: [], exitCode: () => (went ? 0 : 1) }
}
