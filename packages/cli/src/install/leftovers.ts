import { isForbidden, isNotFound, type ResourceType, type Unstructured, unlessNotFound } from '@lateen/kube'
import type { InstallOptions } from './install-options.ts'
import type { InstallPorts } from './install-ports.ts'
import { DaemonSetKind } from './installed-kinds.ts'
import { nodeAgentAccountName } from './node-agent-role.ts'
import { DefinitionKind } from './stored-definition.ts'

const resticRepositories = 'resticrepositories.velero.io'

const ResticRepositoryKind: ResourceType<Unstructured> = {
  group: 'velero.io',
  version: 'v1',
  kind: 'ResticRepository',
  plural: 'resticrepositories',
  namespaced: true,
}

/** Warnings about what earlier installations have left behind that this one does not touch, each with the command that removes it. */
export async function* leftovers(
  { namespace, nodeAgent, rights }: Pick<InstallOptions, 'namespace' | 'nodeAgent' | 'rights'>,
  ports: InstallPorts,
): AsyncGenerator<string> {
  const { client, signal } = ports
  const agents = client.resource(DaemonSetKind, namespace)
  for (const [name, installed, flag] of [
    ['node-agent', nodeAgent.linux, '--use-node-agent'],
    ['node-agent-windows', nodeAgent.windows, '--use-node-agent-windows'],
  ] as const) {
    if (installed) continue
    const found = await agents.get(name, { signal }).catch(unlessUnseen)
    if (found === undefined) continue
    const { containers, serviceAccountName } = found.spec?.template?.spec ?? {}
    const isPowerless = rights !== undefined && serviceAccountName !== nodeAgentAccountName
    const powerless = isPowerless ? ', but its account may not do its work any more' : ''
    yield `Warning: DaemonSet/${name} of an earlier installation stays as it is, with image ${containers?.[0]?.image}${powerless}. Bring it up to date with ${flag}, or remove it: kubectl -n ${namespace} delete daemonset ${name}`
  }
  if ((await agents.get('restic', { signal }).catch(unlessUnseen)) !== undefined) {
    yield `Warning: DaemonSet/restic is of a Velero older than 1.10 and of no use any more. Remove it: kubectl -n ${namespace} delete daemonset restic`
  }
  const definition = await client
    .resource(DefinitionKind)
    .get(resticRepositories, { signal })
    .catch(unlessUnseen)
  if (definition === undefined) return
  const objects = await countRepositories(ports)
  const held =
    objects === 0 ? '' : ` with ${objects} ResticRepository ${objects === 1 ? 'object' : 'objects'}`
  yield `Warning: CustomResourceDefinition/${resticRepositories}${held} is of a Velero older than 1.10 and of no use any more. Remove it: kubectl delete crd ${resticRepositories}`
}

async function countRepositories({ client, signal }: InstallPorts): Promise<number> {
  let count = 0
  try {
    for await (const _ of client.resource(ResticRepositoryKind).list({ signal })) count += 1
  } catch (error) {
    unlessUnseen(error)
  }
  return count
}

/** What may not be looked at cannot be warned about. */
function unlessUnseen(error: unknown): undefined {
  if (isForbidden(error) || isNotFound(error)) return undefined
  return unlessNotFound(error)
}
