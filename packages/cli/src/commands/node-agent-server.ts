import { version } from '../build-info.ts'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { nodeAgentFlags } from '../tree/in-cluster.ts'
import { logLevelOf } from './log-level.ts'

/** `node-agent server`: runs on a node until it is told to stop. */
export async function run(call: CommandCall<typeof nodeAgentFlags>): Promise<CommandResult> {
  const { flags, surroundings } = call
  const node = surroundings.env.NODE_NAME
  if (!node) {
    throw new CliError('USAGE', 'NODE_NAME is not set, so the node agent does not know its node', {
      hint: 'the DaemonSet of an installation sets it',
    })
  }
  const { namespace, kubeconfig, kubecontext } = await call.settings()
  const { hostPods, runNodeAgent } = await import('@lateen/server')
  await runNodeAgent(
    {
      ...{ namespace, kubeconfig, kubecontext, node, version },
      logLevel: logLevelOf(flags['log-level']),
      logFormat: flags['log-format'] === 'json' ? 'json' : 'text',
      metricsAddress: flags['metrics-address'],
      resourceTimeout: flags['resource-timeout'].milliseconds,
      prepareTimeout: flags['data-mover-prepare-timeout'].milliseconds,
      configMap: flags['node-agent-configmap'] ?? '',
      podsFolder: hostPods,
    },
    surroundings.signal,
  )
  return { show: 'nothing' }
}
