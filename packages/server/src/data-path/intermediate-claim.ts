import { builtInKind, isAlreadyExists, type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'
import { DataPathError } from './data-path-error.ts'

/** What is read of claims. */
export interface Claim extends KubeObject {
  spec?: {
    accessModes?: readonly string[]
    storageClassName?: string
    volumeMode?: 'Filesystem' | 'Block'
    volumeName?: string
    dataSource?: object
    resources?: object
    selector?: { matchLabels?: Readonly<Record<string, string>> } | null
  }
  status?: { phase?: string }
}

/** What is read of volumes. */
export interface Volume extends KubeObject {
  spec?: {
    claimRef?: { namespace?: string; name?: string; uid?: string } | null
    persistentVolumeReclaimPolicy?: string
  }
  status?: { phase?: string }
}

export interface StorageClass extends KubeObject {
  volumeBindingMode?: string
  parameters?: Readonly<Record<string, string>>
}

export const ClaimKind = builtInKind<Claim>('PersistentVolumeClaim')
export const VolumeKind = builtInKind<Volume>('PersistentVolume')
export const StorageClassKind = builtInKind<StorageClass>('StorageClass')

/** The scheduler writes here which node a claim's volume has to be on. */
export const selectedNode = 'volume.kubernetes.io/selected-node'

export interface ClaimPorts {
  client: KubeClient
  signal: AbortSignal
}

/** Whether an object was made for another. */
export function isOwnedBy({ metadata }: KubeObject, owner: KubeObject): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false
}

/** The claim of an object's own name that was made for it; undefined when there is none. Throws KubeErrors. */
export async function claimOf(owner: KubeObject, { client, signal }: ClaimPorts): Promise<Claim | undefined> {
  const { name = '', namespace } = owner.metadata
  const found = await client.resource(ClaimKind, namespace).get(name, { signal }).catch(unlessNotFound)
  return found !== undefined && isOwnedBy(found, owner) ? found : undefined
}

/** Creates a claim for an object, unless it is there. Throws `NAME_TAKEN` where the name is another's, and KubeErrors. */
export async function createClaim(
  claim: Claim,
  owner: KubeObject,
  { client, signal }: ClaimPorts,
): Promise<void> {
  const { namespace, name = '' } = claim.metadata
  const claims = client.resource(ClaimKind, namespace)
  try {
    await claims.create(claim, { signal })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const found = await claims.get(name, { signal }).catch(unlessNotFound)
    if (found === undefined || isOwnedBy(found, owner)) return
    throw new DataPathError('NAME_TAKEN', {
      reason: `there is a PersistentVolumeClaim ${namespace}/${name} already, which is not for this`,
      hint: 'Remove it, or give it another name',
      cause: error,
    })
  }
}
