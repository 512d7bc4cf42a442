import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import { DeploymentKind, serverDeployment } from './server-deployment.ts'

/** `plugin remove NAME|IMAGE`: takes an init container out of the server's Deployment. Throws a CliError without one. */
export async function run(call: CommandCall): Promise<CommandResult> {
  const { signal } = call.surroundings
  const wanted = call.args[0] ?? ''
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const { metadata, spec } = await serverDeployment({ client, namespace, signal })
  const { name: deployment = '', resourceVersion } = metadata
  const all = spec.template.spec.initContainers ?? []
  const at = all.findIndex(({ name, image }) => name === wanted || image === wanted)
  if (at < 0) {
    const known = all.map(({ name, image }) => `${name} (${image})`).join(', ') || 'none'
    throw new CliError('NOT_FOUND', `init container ${wanted} not found in Deployment ${deployment}`, {
      hint: `there are: ${known}`,
    })
  }
  const initContainers = all.toSpliced(at, 1)
  const body = { metadata: { resourceVersion }, spec: { template: { spec: { initContainers } } } }
  await client.resource(DeploymentKind, namespace).patch(deployment, { type: 'merge', body }, { signal })
  return {
    show: 'lines',
    lines: [`Plugin ${wanted} removed from Deployment ${deployment}. The server restarts.`],
  }
}
