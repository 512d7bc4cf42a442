import { clusterRoleBindingObject, serviceAccountObject } from './cluster-objects.ts'
import { nodeAgentRightsName, nodeAgentRightsObjects, rightsName, rightsObjects } from './cluster-role.ts'
import type { InstallOptions } from './install-options.ts'
import { nodeAgentAccountName } from './node-agent-role.ts'

/**
 * The service accounts and what they may do. An existing account gets nothing, unless rights are named: who names them
 * means that account.
 */
export function accountObjects(options: InstallOptions): object[] {
  const { namespace, rights, serviceAccountName } = options
  const account =
    serviceAccountName === undefined
      ? [serviceAccountObject(namespace, options.serviceAccountAnnotations)]
      : []
  const binding = serviceAccountName === undefined ? [clusterRoleBindingObject(namespace)] : []
  if (rights === undefined) return [...binding, ...account]
  return [
    ...account,
    ...rightsObjects(rights, { namespace, serviceAccountName: serviceAccountName ?? 'velero' }),
    ...nodeAgentObjects(options),
  ]
}

/** The account under which node agents and movers run: the server's, unless that one has rights of its own that they do not need. */
export function nodeAgentAccount({ rights, serviceAccountName }: InstallOptions): string {
  return serviceAccountName ?? (rights === undefined ? 'velero' : nodeAgentAccountName)
}

function nodeAgentObjects(options: InstallOptions): object[] {
  const { namespace, nodeAgent, serviceAccountAnnotations: annotations } = options
  if (!nodeAgent.linux && !nodeAgent.windows) return []
  const name = nodeAgentAccount(options)
  const account =
    options.serviceAccountName === undefined ? [serviceAccountObject(namespace, annotations, name)] : []
  return [...account, ...nodeAgentRightsObjects({ namespace, serviceAccountName: name })]
}

/**
 * The ClusterRoleBindings that the other choice of rights would have made. A binding cannot be pointed at another role, and one that stays would go on
 * to grant what the user has just taken back.
 */
export function supersededBindings({
  namespace,
  rights,
}: Pick<InstallOptions, 'namespace' | 'rights'>): string[] {
  const whole = namespace === 'velero' ? 'velero' : `velero-${namespace}`
  return rights === undefined ? [rightsName(namespace), nodeAgentRightsName(namespace)] : [whole]
}
