import { type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { type KubeObject, unlessNotFound } from '@lateen/kube'
import type { Progress } from '../output/progress.ts'
import { supersededBindings } from './account-objects.ts'
import { applyDefinitions } from './apply-definitions.ts'
import { applyObject } from './apply-object.ts'
import { awaitRollout } from './await-rollout.ts'
import { checkConfigMaps, type NamedConfigMaps } from './check-config-maps.ts'
import { checkDefinitions } from './check-definitions.ts'
import { checkRights } from './check-rights.ts'
import { customResourceDefinitions } from './custom-resource-definitions.ts'
import { requireLivingNamespace, type Succession, succeed } from './earlier-installation.ts'
import { installObjects } from './install-objects.ts'
import type { InstallOptions } from './install-options.ts'
import type { InstallPorts } from './install-ports.ts'
import { ClusterRoleBindingKind, type StoredBinding, type Workload } from './installed-kinds.ts'
import { leftovers } from './leftovers.ts'
import { presentBindings } from './present-bindings.ts'
import { rightsToInstall } from './rights-to-install.ts'
import { DefinitionKind } from './stored-definition.ts'

/** Where to install and what to look at. */
export interface InstallScope {
  readonly ports: InstallPorts
  /** Absent: the pods are not waited for. */
  readonly waitMs?: number
  readonly configMaps: NamedConfigMaps
}

const remedy =
  "ask an administrator of the cluster to run the command, or to apply what it prints with '--dry-run -o yaml'"

/**
 * Installs, saying of each object what became of it. Checks come first: what they refuse, with a CliError, leaves the cluster as
 * it was. Stopped at any moment, the same command finishes the work.
 */
export async function* installInto(
  options: InstallOptions,
  scope: InstallScope,
): AsyncGenerator<string | Progress> {
  const { ports } = scope
  const { namespace } = options
  const all = installObjects(options) as KubeObject[]
  const waits = scope.waitMs !== undefined
  const bindings = await presentBindings(all, ports)
  await checkRights(rightsToInstall(all, { namespace, waits, bindings }), ports, remedy)
  const superseded = await bindingsThere(supersededBindings(options), ports)
  if (superseded.length > 0) {
    await checkRights([{ verb: 'delete', kind: ClusterRoleBindingKind }], ports, remedy)
  }
  await requireLivingNamespace(namespace, ports)
  await checkConfigMaps(scope.configMaps, namespace, ports)
  const { definitions, warnings } = await checkDefinitions(customResourceDefinitions(), ports)
  const successions = await successionsOf(all, ports)

  yield* applyDefinitions(definitions, ports)
  for (const object of all.filter(({ kind }) => kind !== DefinitionKind.kind)) {
    const succession = successions.get(object)
    const outcome = await applyObject(
      succession?.workload ?? (await besideOtherDefault(object, ports)),
      ports,
    )
    yield `${object.kind}/${object.metadata.name}: ${outcome}`
    yield* succession?.notes ?? []
  }
  for (const binding of superseded) yield* removeBinding(binding, ports)
  yield* warnings
  yield* leftovers(options, ports)

  if (scope.waitMs !== undefined) {
    const deadline = ports.clock.now() + scope.waitMs
    for (const workload of successions.keys()) yield* awaitRollout({ workload, deadline }, ports)
  }
  yield* lastLines(options)
}

/** Somebody may have made another location the default one since, and two would leave it to chance where backups go. */
async function besideOtherDefault(object: KubeObject, { client, signal }: InstallPorts): Promise<KubeObject> {
  if (object.kind !== BackupStorageLocationKind.kind) return object
  const { name, namespace } = object.metadata
  for await (const { metadata, spec } of client
    .resource(BackupStorageLocationKind, namespace)
    .list({ signal })) {
    if (metadata.name === name || spec.default !== true) continue
    const location = object as BackupStorageLocation
    return { ...location, spec: { ...location.spec, default: false } } as KubeObject
  }
  return object
}

/** Deployment and DaemonSets with what each takes over from the one of its name. */
async function successionsOf(
  objects: readonly KubeObject[],
  ports: InstallPorts,
): Promise<Map<KubeObject, Succession>> {
  const successions = new Map<KubeObject, Succession>()
  for (const object of objects) {
    if (object.kind === 'Deployment' || object.kind === 'DaemonSet')
      successions.set(object, await succeed(object as Workload, ports))
  }
  return successions
}

/** Those that an installation has made. */
async function bindingsThere(
  names: readonly string[],
  { client, signal }: InstallPorts,
): Promise<StoredBinding[]> {
  const bindings = client.resource(ClusterRoleBindingKind)
  const found = await Promise.all(names.map(name => bindings.get(name, { signal }).catch(unlessNotFound)))
  return found.filter(binding => binding?.metadata.labels?.component === 'velero') as StoredBinding[]
}

/** The binding of another choice of rights goes once the new one is there. */
async function* removeBinding(
  { metadata: { name = '', uid } }: StoredBinding,
  { client, signal }: InstallPorts,
): AsyncGenerator<string> {
  const bindings = client.resource(ClusterRoleBindingKind)
  await bindings.delete(name, { signal, preconditions: { uid } }).catch(unlessNotFound)
  yield `ClusterRoleBinding/${name}: removed, other rights take its place`
}

function* lastLines({ namespace, secret, backupLocation }: InstallOptions): Generator<string> {
  if (secret === undefined) yield 'No secret file was given, and no Secret was made.'
  if (backupLocation === undefined) yield 'No bucket was given, and no default backup location was made.'
  yield `Lateen is installed. See what it does: kubectl logs deployment/velero -n ${namespace}`
}
