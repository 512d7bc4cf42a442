import { CliError } from '../cli-error.ts'
import { pluginContainer } from '../install/plugin-containers.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { pluginAddFlags } from '../tree/plugin.ts'
import { confirm } from './confirm.ts'
import {
  type Container,
  changeServer,
  type ServerDeployment,
  type ServerPod,
  serverContainer,
} from './server-deployment.ts'

type Call = CommandCall<typeof pluginAddFlags>

/** `plugin add IMAGE`: asks first, then adds an init container to the server's Deployment. */
export function run(call: Call): CommandResult {
  if (!call.args[0]) throw new CliError('USAGE', 'the image of a plugin is needed')
  return { show: 'lines', lines: add(call) }
}

async function* add(call: Call): AsyncGenerator<string> {
  const { flags, args, surroundings } = call
  const { signal } = surroundings
  const { namespace } = await call.settings()
  if (!flags.confirm) {
    yield 'Adding a plugin restarts the server: backups and restores in progress fail.'
    if (!(await confirm(surroundings))) return
  }
  await using client = await call.connect()
  const image = args[0] ?? ''
  const name = await changeServer({ client, namespace, signal }, deployment =>
    withPlugin(deployment, image, flags['image-pull-policy']),
  )
  yield `Plugin ${image} added to Deployment ${name}. The server restarts.`
}

/** What changes when a plugin is added. Throws a CliError for an image that is there already. */
function withPlugin(
  { metadata, spec }: ServerDeployment,
  image: string,
  pullPolicy: string,
): Partial<ServerPod> {
  const { initContainers = [], containers, volumes = [] } = spec.template.spec
  if (initContainers.some(container => container.image === image)) {
    throw new CliError('EXISTS', `Deployment ${metadata.name} has the plugin ${image} already`)
  }
  const taken = new Set(initContainers.map(({ name }) => name))
  return {
    initContainers: [...initContainers, pluginContainer(image, pullPolicy, taken)],
    ...(volumes.some(({ name }) => name === 'plugins')
      ? {}
      : { volumes: [...volumes, { name: 'plugins', emptyDir: {} }], containers: containers.map(mounting) }),
  }
}

function mounting(container: Container): Container {
  if (container.name !== serverContainer) return container
  const mounts = container.volumeMounts ?? []
  return { ...container, volumeMounts: [...mounts, { name: 'plugins', mountPath: '/plugins' }] }
}
