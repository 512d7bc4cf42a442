import { allKinds, labelNames } from '@lateen/api'
import { isConflict, type KubeObject, type ResourceType, unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { Progress } from '../output/progress.ts'
import type { InstallPorts } from './install-ports.ts'
import { kindsInNamespace, NamespaceKind, type StoredNamespace } from './installed-kinds.ts'
import { passwordSecretName } from './repository-password.ts'

const POLL_MS = 500
const GONE_WITHIN_MS = 300_000

/**
 * Removes the namespace. With the server stopped, nobody else takes the finalizers off its objects, so this does. Throws a CliError
 * (`TIMEOUT`) with what the API server says is left.
 */
export async function* removeNamespace(
  namespace: string,
  ports: InstallPorts,
): AsyncGenerator<string | Progress> {
  const { client, clock, signal } = ports
  const namespaces = client.resource(NamespaceKind)
  let found = await namespaces.get(namespace, { signal }).catch(unlessNotFound)
  if (found === undefined) {
    yield `Namespace/${namespace}: is not there`
    return
  }
  await namespaces.delete(namespace, { signal }).catch(unlessGoing)
  const started = clock.now()
  for (;;) {
    await clearFinalizers(namespace, ports)
    found = await namespaces.get(namespace, { signal }).catch(unlessNotFound)
    if (found === undefined) break
    const elapsedMs = clock.now() - started
    if (elapsedMs >= GONE_WITHIN_MS) throw stillThere(found)
    yield { phase: `Waiting for namespace ${namespace} to go`, done: 0, total: 0, elapsedMs }
    await clock.sleep(POLL_MS, signal)
  }
  yield `Namespace/${namespace}: removed`
}

/** Removes what an installation consists of or makes from a namespace that stays, but for the password of its repositories. */
export async function* emptyNamespace(namespace: string, ports: InstallPorts): AsyncGenerator<string> {
  const { client, signal } = ports
  for (const kind of kindsInNamespace) {
    const stored = client.resource(kind, namespace)
    for (const name of await namesOf(kind, namespace, ports)) {
      await stored.delete(name, { signal, propagationPolicy: 'Background' }).catch(unlessNotFound)
      yield `${kind.kind}/${name}: removed`
    }
  }
  for (const kind of allKinds) {
    const stored = client.resource<KubeObject>(kind, namespace)
    const objects = await stored.list({ signal }).toArray().catch(unlessNotFound)
    for (const { metadata } of objects ?? []) {
      await stored.delete(metadata.name ?? '', { signal }).catch(unlessNotFound)
    }
    if ((objects ?? []).length > 0) yield `${kind.kind}: ${(objects ?? []).length} removed`
  }
  await clearFinalizers(namespace, ports)
}

/** Names of objects that carry the label of an installation, and of the leases and jobs of its servers. */
async function namesOf(
  kind: ResourceType<KubeObject>,
  namespace: string,
  { client, signal }: InstallPorts,
): Promise<string[]> {
  const names: string[] = []
  for await (const { metadata } of client.resource(kind, namespace).list({ signal })) {
    if (isOurs(kind.kind, metadata)) names.push(metadata.name ?? '')
  }
  return names
}

function isOurs(kind: string, { name = '', labels }: KubeObject['metadata']): boolean {
  if (kind === 'Secret' && name === passwordSecretName) return false
  if (labels?.component === 'velero') return true
  if (kind === 'Lease') return name === 'lateen-server'
  return kind === 'Job' && labels?.[labelNames.repositoryName] !== undefined
}

/** Takes finalizers off objects of our kinds that are being deleted. */
async function clearFinalizers(namespace: string, { client, signal }: InstallPorts): Promise<void> {
  for (const kind of allKinds) {
    const stored = client.resource<KubeObject>(kind, namespace)
    const objects = await stored.list({ signal }).toArray().catch(unlessNotFound)
    for (const { metadata } of objects ?? []) {
      if ((metadata.finalizers ?? []).length === 0 || metadata.deletionTimestamp === undefined) continue
      const patch = { type: 'merge', body: { metadata: { finalizers: null } } } as const
      await stored.patch(metadata.name ?? '', patch, { signal }).catch(unlessNotFound)
    }
  }
}

/** A namespace that is being deleted already answers with a conflict. */
function unlessGoing(error: unknown): undefined {
  return isConflict(error) ? undefined : unlessNotFound(error)
}

function stillThere({ metadata, status }: StoredNamespace): CliError {
  const reasons = (status?.conditions ?? [])
    .filter(condition => condition.status === 'True' && condition.message !== undefined)
    .map(condition => condition.message)
  return new CliError(
    'TIMEOUT',
    `namespace ${metadata.name} does not go${reasons.length === 0 ? '' : `: ${reasons.join('; ')}`}`,
    { hint: 'remove what keeps it, then run the command again' },
  )
}
