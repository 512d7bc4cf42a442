import { isDeepStrictEqual } from 'node:util'
import { lateenAnnotation } from '@lateen/api'
import {
  builtInKind,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type ResourceClient,
  unlessNotFound,
} from '@lateen/kube'
import { DataPathError } from './data-path-error.ts'
import type { BackupClaimSettings } from './node-agent-config.ts'

interface Copyable extends KubeObject {
  data?: Record<string, string>
  binaryData?: Record<string, string>
  type?: string
}

const kinds = {
  secretNames: builtInKind<Copyable>('Secret'),
  configMapNames: builtInKind<Copyable>('ConfigMap'),
} as const

const sorts = ['secretNames', 'configMapNames'] as const

/** On copies: the UID of what they were first made for. */
const copyLabel = 'velero.io/backup-pvc-secret'

/** On copies: a label of this beginning for each that needs them. */
const neededPrefix = lateenAnnotation('needed-by-')

function neededLabel(uid: string): string {
  return `${neededPrefix}${uid}`
}

/** What copies are made for, and where from. */
interface CopyOwner extends Pick<KubeObject, 'metadata'> {
  spec: { sourceNamespace: string }
}

interface CopyPorts {
  client: KubeClient
  signal: AbortSignal
}

/**
 * Copies the Secrets and ConfigMaps to the namespace of an object that a driver needs to provision volumes there. One copy serves all that need it at a
 * time. False as long as a copy of something else has that name. Throws `NAME_TAKEN` where one of the name is there that is no copy, and KubeErrors.
 */
export async function copyNeeded(
  owner: CopyOwner,
  settings: Pick<BackupClaimSettings, (typeof sorts)[number]>,
  ports: CopyPorts,
): Promise<boolean> {
  for (const sort of sorts) {
    for (const name of settings[sort] ?? []) {
      if (!(await copy(owner, { sort, name }, ports))) return false
    }
  }
  return true
}

async function copy(
  owner: CopyOwner,
  { sort, name }: { sort: (typeof sorts)[number]; name: string },
  { client, signal }: CopyPorts,
): Promise<boolean> {
  const { namespace = '', uid = '' } = owner.metadata
  const source = await client.resource(kinds[sort], owner.spec.sourceNamespace).get(name, { signal })
  const { apiVersion, kind, data, binaryData, type } = source
  const objects = client.resource(kinds[sort], namespace)
  const labels = { [copyLabel]: uid, [neededLabel(uid)]: 'true' }
  const wanted: Copyable = {
    ...{ apiVersion, kind, metadata: { name, namespace, labels } },
    ...(data && { data }),
    ...(binaryData && { binaryData }),
    ...(type && { type }),
  }
  try {
    await objects.create(wanted, { signal })
    return true
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    return share(wanted, uid, { objects, signal })
  }
}

/** Has a copy that is there kept for this object, too. False where it is about to go, or another's. */
async function share(
  wanted: Copyable,
  uid: string,
  { objects, signal }: { objects: ResourceClient<Copyable>; signal: AbortSignal },
): Promise<boolean> {
  const { name = '', namespace } = wanted.metadata
  const found = await objects.get(name, { signal }).catch(unlessNotFound)
  if (found === undefined) return false
  const { labels = {}, resourceVersion, deletionTimestamp } = found.metadata
  if (!(copyLabel in labels)) {
    throw new DataPathError('NAME_TAKEN', {
      reason: `there is a ${wanted.kind} ${namespace}/${name} already that is no copy of the one that is needed`,
      hint: 'Give either of them another name',
    })
  }
  const isSame =
    isDeepStrictEqual(found.data, wanted.data) && isDeepStrictEqual(found.binaryData, wanted.binaryData)
  if (deletionTimestamp !== undefined || !isSame) return false
  if (neededLabel(uid) in labels) return true
  const body = { metadata: { resourceVersion, labels: { [neededLabel(uid)]: 'true' } } }
  try {
    await objects.patch(name, { type: 'merge', body }, { signal })
    return true
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error
    return false
  }
}

/** Removes the copies that were made for an object and that no other needs. Throws KubeErrors, of conflicts, too. */
export async function removeCopies(
  { metadata }: Pick<KubeObject, 'metadata'>,
  { client, signal }: CopyPorts,
): Promise<void> {
  const label = neededLabel(metadata.uid ?? '')
  for (const sort of sorts) {
    const objects = client.resource(kinds[sort], metadata.namespace)
    for await (const { metadata: own } of objects.list({ labelSelector: label, signal })) {
      const { name = '', uid, resourceVersion, labels = {} } = own
      const isShared = Object.keys(labels).some(key => key.startsWith(neededPrefix) && key !== label)
      const body = { metadata: { resourceVersion, labels: { [label]: null } } }
      const change = isShared
        ? objects.patch(name, { type: 'merge', body }, { signal })
        : objects.delete(name, { preconditions: { uid, resourceVersion }, signal })
      await change.catch(unlessNotFound)
    }
  }
}
