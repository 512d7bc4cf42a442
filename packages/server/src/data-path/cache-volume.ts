/** Settings of the volume that restores cache in: `cachePVC` of the node agents' ConfigMap. */
export interface CacheSettings {
  /** Without it there is no such volume. */
  readonly storageClass?: string
  /** Smaller volumes are restored without. */
  readonly residentThresholdInMB?: number
}

/** A volume for a mover to cache in. */
export interface CacheVolume {
  readonly storageClass: string
  readonly gibibytes: number
}

/** What decides whether a restore gets a volume to cache in. */
export interface CacheFacts {
  readonly settings: CacheSettings | undefined
  /** Of what is restored; undefined when nobody knows. */
  readonly bytes: number | undefined
  /** How large the cache may grow, as the repository's settings have it. */
  readonly limitMB: string | undefined
}

/** Where movers find it. */
export const cachePath = '/cachedir'
export const cacheVolumeName = 'cachedir'

const megabyte = 1 << 20
const gibibyte = 1 << 30
const defaultLimitMB = 5000

/** The volume that a restore gets to cache in: a fifth larger than the cache, in whole gibibytes. Undefined for none. */
export function cacheVolumeFor({ settings, bytes = 0, limitMB = '' }: CacheFacts): CacheVolume | undefined {
  const { storageClass, residentThresholdInMB = 0 } = settings ?? {}
  if (!storageClass || (bytes > 0 && bytes < residentThresholdInMB * megabyte)) return undefined
  const limit = (/^\d{1,9}$/.test(limitMB) ? Number(limitMB) : defaultLimitMB) * megabyte
  if (limit === 0) return undefined
  return { storageClass, gibibytes: Math.ceil((limit * 1.2) / gibibyte) }
}

/** The volume as a pod has it: made and removed with that pod, on its node where no scheduler chose that. */
export function podVolumeOf(
  { storageClass, gibibytes }: CacheVolume,
  node: string | undefined,
): { name: string; ephemeral: object } {
  return {
    name: cacheVolumeName,
    ephemeral: {
      volumeClaimTemplate: {
        metadata: { annotations: node === undefined ? {} : { 'volume.kubernetes.io/selected-node': node } },
        spec: {
          accessModes: ['ReadWriteOnce'],
          volumeMode: 'Filesystem',
          storageClassName: storageClass,
          resources: { requests: { storage: `${gibibytes}Gi` } },
        },
      },
    },
  }
}
