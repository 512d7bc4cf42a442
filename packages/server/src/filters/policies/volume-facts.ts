import { parseQuantity, type Quantity } from './quantity.ts'

/** What policies look at in a volume. What is not known is absent. */
export interface VolumeFacts {
  capacity?: Quantity | undefined
  storageClass?: string | undefined
  nfs?: { server: string; path: string } | undefined
  csi?: { driver: string; volumeAttributes?: Readonly<Record<string, string>> | undefined } | undefined
  /** Such as `csi`, `nfs` or `emptyDir`. */
  volumeType?: string | undefined
  pvcLabels?: Readonly<Record<string, string>> | undefined
  pvcPhase?: string | undefined
  pvcVolumeMode?: string | undefined
  pvcAccessModes?: readonly string[] | undefined
}

/** A PersistentVolume, as far as policies look at it. */
export interface PersistentVolumeFields {
  spec?: { capacity?: { storage?: string }; storageClassName?: string } & Sources
}

/** A PersistentVolumeClaim, as far as policies look at it. */
export interface ClaimFields {
  metadata?: { labels?: Readonly<Record<string, string>> }
  spec?: { volumeMode?: string; accessModes?: readonly string[] }
  status?: { phase?: string }
}

interface Sources {
  nfs?: { server?: string; path?: string }
  csi?: { driver?: string; volumeAttributes?: Readonly<Record<string, string>> }
  [source: string]: unknown
}

/** A volume of a pod, as far as policies look at it. */
export interface PodVolumeFields extends Sources {
  name?: string
}

/** What is known about a volume. Where there are both, the PersistentVolume tells more than the pod. */
export interface VolumeObjects {
  persistentVolume?: PersistentVolumeFields | undefined
  podVolume?: PodVolumeFields | undefined
  claim?: ClaimFields | undefined
}

const persistentTypes = [
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cephfs',
  'cinder',
  'csi',
  'fc',
  'flocker',
  'flexVolume',
  'gcePersistentDisk',
  'glusterfs',
  'hostPath',
  'iscsi',
  'local',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
] as const

const podTypes = [
  ...persistentTypes,
  'gitRepo',
  'secret',
  'downwardAPI',
  'configMap',
  'projected',
  'ephemeral',
  'emptyDir',
] as const

/** How policies call types whose field has another name. */
const policyNames: Readonly<Record<string, string>> = { storageos: 'storageOS' }

/** What policies look at, taken from the objects that tell about a volume. */
export function volumeFactsOf({ persistentVolume, podVolume, claim }: VolumeObjects): VolumeFacts {
  const source = persistentVolume ? (persistentVolume.spec ?? {}) : podVolume
  const types = persistentVolume ? persistentTypes : podTypes
  const { nfs, csi } = source ?? {}
  return {
    capacity: parseQuantity(persistentVolume?.spec?.capacity?.storage ?? ''),
    storageClass: persistentVolume?.spec?.storageClassName,
    nfs: nfs && { server: nfs.server ?? '', path: nfs.path ?? '' },
    csi: csi && { driver: csi.driver ?? '', volumeAttributes: csi.volumeAttributes },
    volumeType: source && typeOf(source, types),
    pvcLabels: claim?.metadata?.labels,
    pvcPhase: claim?.status?.phase,
    pvcVolumeMode: claim?.spec?.volumeMode,
    pvcAccessModes: claim?.spec?.accessModes,
  }
}

function typeOf(source: Sources, types: readonly string[]): string | undefined {
  const type = types.find(name => (source[name] ?? undefined) !== undefined)
  return type && (policyNames[type] ?? type)
}
