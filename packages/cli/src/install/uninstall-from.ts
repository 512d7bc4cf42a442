import { allKinds, RestoreKind } from '@lateen/api'
import { isNotFound, type KubeObject, type ResourceType, unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { Progress } from '../output/progress.ts'
import type { NeededRight } from './check-rights.ts'
import { nodeAgentRightsName, rightsName } from './cluster-role.ts'
import type { InstallPorts } from './install-ports.ts'
import {
  ClaimKind,
  ClusterRoleBindingKind,
  ClusterRoleKind,
  DaemonSetKind,
  DeploymentKind,
  NamespaceKind,
} from './installed-kinds.ts'
import { StartingPodKind } from './pod-trouble.ts'
import { removeDefinitions } from './remove-definitions.ts'
import { emptyNamespace, removeNamespace } from './remove-namespace.ts'
import { holdsOwnPassword, passwordWarning, SecretKind } from './repository-password.ts'
import { stopWorkloads } from './stop-workloads.ts'
import { DefinitionKind } from './stored-definition.ts'

/** What removing an installation takes. */
export function rightsToUninstall(namespace: string): NeededRight[] {
  const needs: [ResourceType<KubeObject>, ...string[]][] = [
    [NamespaceKind, 'get', 'delete'],
    [DeploymentKind, 'get', 'delete'],
    [DaemonSetKind, 'get', 'delete'],
    [StartingPodKind, 'list'],
    [ClaimKind, 'list'],
    [SecretKind, 'get'],
    [ClusterRoleBindingKind, 'get', 'delete'],
    [ClusterRoleKind, 'get', 'delete'],
    [DefinitionKind, 'get', 'list', 'delete'],
    [RestoreKind, 'list', 'patch'],
  ]
  return needs.flatMap(([kind, ...verbs]) => verbs.map(verb => ({ verb, kind, namespace })))
}

/**
 * Throws a CliError (`REFUSED`) for a namespace that is there and does not belong to an installation: a slip of the keyboard
 * must not remove something else.
 */
export async function requireInstallation(namespace: string, ports: InstallPorts): Promise<void> {
  const { client, signal } = ports
  const found = await client.resource(NamespaceKind).get(namespace, { signal }).catch(unlessNotFound)
  if (found === undefined || found.metadata.labels?.component === 'velero') return
  for (const [kind, name] of [[DeploymentKind, 'velero'] as const, [DaemonSetKind, 'node-agent'] as const]) {
    const there = await client.resource(kind, namespace).get(name, { signal }).catch(unlessNotFound)
    if (there !== undefined) return
  }
  if (await isLeftOver(namespace, ports)) return
  throw new CliError('REFUSED', `nothing was removed: namespace ${namespace} holds no installation`, {
    hint: "name the right one with --namespace ('kubectl get namespaces -l component=velero' lists candidates)",
  })
}

/** Whether a namespace is what remains when the chart is uninstalled: objects of an installation's definitions, and no pod that stays. */
async function isLeftOver(namespace: string, { client, signal }: InstallPorts): Promise<boolean> {
  for await (const { metadata, status } of client.resource(StartingPodKind, namespace).list({ signal })) {
    const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed'
    if (!hasEnded && metadata.deletionTimestamp === undefined) return false
  }
  const definitions = client.resource(DefinitionKind)
  for (const kind of allKinds) {
    const name = `${kind.plural}.${kind.group}`
    const definition = await definitions.get(name, { signal }).catch(unlessNotFound)
    if (definition?.metadata.labels?.component !== 'velero') continue
    for await (const _ of client.resource<KubeObject>(kind, namespace).list({ signal, limit: 1 })) return true
  }
  return false
}

/** Whether the password of repositories goes with this installation: a namespace with claims stays, and so does the password in it. */
export async function losesPassword(namespace: string, ports: InstallPorts): Promise<boolean> {
  return (await claimsIn(namespace, ports)).length === 0 && (await holdsOwnPassword(namespace, ports))
}

/**
 * Removes an installation, saying what goes. The server stops first, so that it neither takes up new work nor reacts to the
 * removal of restores by deleting their files in the bucket. Stopped at any moment, the same command finishes the work.
 */
export async function* uninstallFrom(
  namespace: string,
  ports: InstallPorts,
): AsyncGenerator<string | Progress> {
  yield* stopWorkloads(namespace, ports)
  const claims = await claimsIn(namespace, ports)
  yield* claims.length === 0 ? removeNamespace(namespace, ports) : emptyNamespace(namespace, ports)
  const suffix = namespace === 'velero' ? '' : `-${namespace}`
  const roles = [rightsName(namespace), nodeAgentRightsName(namespace)]
  yield* removeNamed(ClusterRoleBindingKind, [`velero${suffix}`, ...roles], ports)
  yield* removeNamed(ClusterRoleKind, roles, ports)
  yield* removeDefinitions(ports)
  if (claims.length > 0) {
    yield `Namespace ${namespace} stays, because it holds ${claims.join(', ')}, which may hold backups.`
    if (await holdsOwnPassword(namespace, ports)) yield passwordWarning(namespace)
    yield `Remove the namespace: kubectl delete namespace ${namespace}`
  }
  yield 'Lateen is uninstalled. What is in buckets is still there.'
}

/** Claims that nothing else owns: a location may have its backups in one, and they are not ours to delete. */
async function claimsIn(namespace: string, { client, signal }: InstallPorts): Promise<string[]> {
  const claims: string[] = []
  for await (const { metadata } of client.resource(ClaimKind, namespace).list({ signal })) {
    if (metadata.deletionTimestamp !== undefined || (metadata.ownerReferences ?? []).length > 0) continue
    claims.push(`PersistentVolumeClaim/${metadata.name}`)
  }
  return claims
}

async function* removeNamed<T extends KubeObject>(
  kind: ResourceType<T>,
  names: readonly string[],
  { client, signal }: InstallPorts,
): AsyncGenerator<string> {
  const stored = client.resource(kind)
  for (const name of names) {
    const found = await stored.get(name, { signal }).catch(unlessNotFound)
    // A name may be somebody else's.
    if (found?.metadata.labels?.component !== 'velero') continue
    try {
      await stored.delete(name, { signal })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    yield `${kind.kind}/${name}: removed`
  }
}
