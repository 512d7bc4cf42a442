import { CliError } from '../cli-error.ts'
import { pluginContainer } from '../install/plugin-containers.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { pluginAddFlags } from '../tree/plugin.ts'
import { confirm } from './confirm.ts'
import {
  DeploymentKind,
  type ServerDeployment,
  serverContainer,
  serverDeployment,
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
  const deployment = await serverDeployment({ client, namespace, signal })
  const image = args[0] ?? ''
  const body = withPlugin(deployment, image, flags['image-pull-policy'])
  const { name = '' } = deployment.metadata
  await client.resource(DeploymentKind, namespace).patch(name, { type: 'merge', body }, { signal })
  yield `Plugin ${image} added to Deployment ${name}. The server restarts.`
}

/**
 * What changes when a plugin is added. A merge patch replaces lists whole, so that a change by somebody else in between is
 * refused by the version in it. Throws a CliError for an image that is there already.
 */
export function withPlugin({ metadata, spec }: ServerDeployment, image: string, pullPolicy: string): object {
  const { initContainers = [], containers, volumes = [] } = spec.template.spec
  if (initContainers.some(container => container.image === image)) {
    throw new CliError('EXISTS', `Deployment ${metadata.name} has the plugin ${image} already`)
  }
  const taken = new Set(initContainers.map(({ name }) => name))
  const pod = {
    initContainers: [...initContainers, pluginContainer(image, pullPolicy, taken)],
    ...(volumes.some(({ name }) => name === 'plugins')
      ? {}
      : { volumes: [...volumes, { name: 'plugins', emptyDir: {} }], containers: containers.map(mounting) }),
  }
  return {
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { template: { spec: pod } },
  }
}

function mounting(container: ServerDeployment['spec']['template']['spec']['containers'][number]) {
  if (container.name !== serverContainer) return container
  const mounts = container.volumeMounts ?? []
  return { ...container, volumeMounts: [...mounts, { name: 'plugins', mountPath: '/plugins' }] }
}
