import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import { changeServer, type ServerDeployment, type ServerPod } from './server-deployment.ts'

/** `plugin remove NAME|IMAGE`: takes an init container out of the server's Deployment. Throws a CliError without one. */
export async function run(call: CommandCall): Promise<CommandResult> {
  const { signal } = call.surroundings
  const wanted = call.args[0] ?? ''
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const place = { client, namespace, signal }
  const name = await changeServer(place, deployment => withoutPlugin(deployment, wanted))
  return {
    show: 'lines',
    lines: [`Plugin ${wanted} removed from Deployment ${name}. The server restarts.`],
  }
}

function withoutPlugin({ metadata, spec }: ServerDeployment, wanted: string): Partial<ServerPod> {
  const all = spec.template.spec.initContainers ?? []
  const at = all.findIndex(({ name, image }) => name === wanted || image === wanted)
  if (at < 0) {
    const known = all.map(({ name, image }) => `${name} (${image})`).join(', ') || 'none'
    throw new CliError('NOT_FOUND', `init container ${wanted} not found in Deployment ${metadata.name}`, {
      hint: `there are: ${known}`,
    })
  }
  return { initContainers: all.toSpliced(at, 1) }
}
