import {
  allKinds,
  apiVersionOf,
  type BackupStorageLocation,
  BackupStorageLocationKind,
  type KindDescription,
} from '@lateen/api'
import { builtInKind, isNotFound, type KubeClient, type Logger, type ResourceType } from '@lateen/kube'

/** The cluster is not ready for a server. */
export class StartUpError extends Error {
  override readonly name = 'StartUpError'
  readonly code: 'NAMESPACE_MISSING' | 'KINDS_MISSING'
  readonly hint: string

  constructor(code: StartUpError['code'], details: { reason: string; hint: string; cause?: unknown }) {
    const { cause } = details
    super(`${details.reason}. ${details.hint}`, cause === undefined ? {} : { cause })
    this.code = code
    this.hint = details.hint
  }
}

const NamespaceKind = builtInKind('Namespace')

export interface StartUpScope {
  client: KubeClient
  namespace: string
  log: Logger
  signal: AbortSignal
}

/** Throws NAMESPACE_MISSING when the server's namespace does not exist. */
export async function requireNamespace({ client, namespace, signal }: StartUpScope): Promise<void> {
  try {
    await client.resource(NamespaceKind).get(namespace, { signal })
  } catch (cause) {
    if (!isNotFound(cause)) throw cause
    throw new StartUpError('NAMESPACE_MISSING', {
      reason: `the namespace ${namespace} does not exist in the cluster at ${client.server}`,
      hint: 'Create it (lateen install does), or name the right one with --namespace',
      cause,
    })
  }
}

/** Throws KINDS_MISSING naming the kinds that the cluster does not serve, of both API versions. */
export async function requireKinds({ client, signal }: StartUpScope): Promise<void> {
  await client.discovery.refresh({ signal })
  const served = new Set((await client.discovery.all({ signal })).map(kindId))
  const missing = allKinds.filter(kind => !served.has(kindId(kind)))
  if (missing.length === 0) return
  throw new StartUpError('KINDS_MISSING', {
    reason: `the cluster at ${client.server} does not serve ${describeKinds(missing)}`,
    hint: 'Run `lateen install --crds-only` to install or update the definitions',
  })
}

function kindId({ group, version, kind }: Pick<ResourceType, 'group' | 'version' | 'kind'>): string {
  return `${group}/${version}/${kind}`
}

/** `Backup, Restore of velero.io/v1 and DataUpload of velero.io/v2alpha1`. */
export function describeKinds(kinds: readonly Pick<KindDescription, 'group' | 'version' | 'kind'>[]): string {
  const byVersion = Map.groupBy(kinds, apiVersionOf)
  return [...byVersion]
    .map(([version, of]) => `${of.map(({ kind }) => kind).join(', ')} of ${version}`)
    .join(' and ')
}

/**
 * Makes the location of that name the default, unless there is a default already or no such location. For the leader: it changes
 * something. Returns when the signal aborts. Throws KubeErrors.
 */
export async function chooseDefaultLocation(name: string, scope: StartUpScope): Promise<void> {
  if (name === '') return
  const { client, namespace, log, signal } = scope
  const resource = client.resource(BackupStorageLocationKind, namespace)
  try {
    const locations = await resource.list({ signal }).toArray()
    if (!needsDefault(locations, name)) return
    await resource.patch(name, { type: 'merge', body: { spec: { default: true } } }, { signal })
    log.info({ location: name }, 'location made the default')
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Whether the named location is to become the default: it exists, and what users chose goes first. */
export function needsDefault(locations: readonly BackupStorageLocation[], name: string): boolean {
  const isDefault = ({ spec }: { spec?: BackupStorageLocation['spec'] }) => spec?.default === true
  return locations.some(({ metadata }) => metadata.name === name) && !locations.some(isDefault)
}
