import type { NodeChoice, PodResources } from '../backup-repository/maintenance-config.ts'
import type { CacheSettings } from './cache-volume.ts'
import { DataPathError } from './data-path-error.ts'
import { jsonObject } from './json-object.ts'

/** How volumes are provisioned that restored data is written to. */
export interface RestoreClaimSettings {
  /** Provisions volumes of classes that wait for a first consumer without one, wherever the mover gets to run. */
  readonly ignoreDelayBinding?: boolean
  /** What the driver needs beside the claim, copied from the namespace of the claim that is restored. */
  readonly secretNames?: readonly string[]
  readonly configMapNames?: readonly string[]
}

/** How the volume is made that a snapshot is read from. */
export interface BackupClaimSettings {
  /** Another class than that of the volume that was snapshot. */
  readonly storageClass?: string
  /** Whether the volume is read only, for drivers that give such a one sooner. */
  readonly readOnly?: boolean
  /** Whether a volume that is read only is not labelled anew for SELinux. */
  readonly spcNoRelabeling?: boolean
  /** On the claim. */
  readonly annotations?: Readonly<Record<string, string>>
  /** What the driver needs beside the claim, copied from the namespace of the volume that was snapshot. */
  readonly secretNames?: readonly string[]
  readonly configMapNames?: readonly string[]
}

/** The settings of node agents that this version reads; the names are those of the ConfigMap. */
export interface NodeAgentConfig {
  readonly loadConcurrency?: {
    /** Movers at a time on each node; 1 unless given. */
    readonly globalConfig?: number
    readonly perNodeConfig?: readonly { nodeSelector: NodeChoice['nodeSelector']; number: number }[]
    /** How many pods of movers may be on their way at a time in the whole cluster; 0 for any number. */
    readonly prepareQueueLength?: number
  }
  /** For data movers that may run anywhere; those of pod volumes run where the pod is. */
  readonly loadAffinity?: readonly (NodeChoice & {
    /** Only for volumes of this class. */
    readonly storageClass?: string
  })[]
  /** For the volumes that restores write. */
  readonly restorePVC?: RestoreClaimSettings
  /** How the volumes are made that snapshots are read from, by the storage class of what was snapshot. */
  readonly backupPVC?: Readonly<Record<string, BackupClaimSettings>>
  readonly podResources?: PodResources
  /** The volume that restores cache in; without it they keep metadata only. */
  readonly cachePVC?: CacheSettings
  readonly priorityClassName?: string
  /** Whether movers of file system backups are privileged, whatever the node agent is. */
  readonly privilegedFsBackup?: boolean
  readonly podAnnotations?: Readonly<Record<string, string>>
  readonly podLabels?: Readonly<Record<string, string>>
}

/** The settings in a ConfigMap, which has one key, whatever its name. Throws `INVALID_CONFIG`. */
export function parseNodeAgentConfig(data: Readonly<Record<string, string>>, name: string): NodeAgentConfig {
  const keys = Object.keys(data)
  const problem = (reason: string, cause?: unknown) =>
    new DataPathError('INVALID_CONFIG', {
      reason: `the ConfigMap ${name} of the node agent ${reason}`,
      hint: 'Give it one key with JSON such as {"loadConcurrency": {"globalConfig": 2}}',
      cause,
    })
  const [key] = keys
  if (key === undefined || keys.length > 1) throw problem(`has ${keys.length} keys`)
  const config: NodeAgentConfig | undefined = jsonObject(data[key] ?? '')
  if (config === undefined) throw problem(`holds no JSON object under ${JSON.stringify(key)}`)
  const { globalConfig = 1, perNodeConfig = [], prepareQueueLength = 0 } = config.loadConcurrency ?? {}
  for (const [what, value, least] of [
    ['loadConcurrency.globalConfig', globalConfig, 1],
    ['loadConcurrency.prepareQueueLength', prepareQueueLength, 0],
    ...perNodeConfig.map(({ number }) => ['loadConcurrency.perNodeConfig.number', number, 1] as const),
  ] as const) {
    if (!Number.isSafeInteger(value) || value < least)
      throw problem(`has ${JSON.stringify(value)} as ${what}`)
  }
  return config
}

/** How many movers may move data at a time on a node with these labels: the smallest number that fits it. */
export function moversPerNode(
  { loadConcurrency }: NodeAgentConfig,
  labels: Readonly<Record<string, string>>,
): number {
  const fitting = (loadConcurrency?.perNodeConfig ?? []).filter(({ nodeSelector }) =>
    selects(nodeSelector, labels),
  )
  if (fitting.length > 0) return Math.min(...fitting.map(({ number }) => number))
  return loadConcurrency?.globalConfig ?? 1
}

/** Whether a selector of Kubernetes takes a node with these labels. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: NodeChoice['nodeSelector'],
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value)
        case 'NotIn':
          return value === undefined || !values.includes(value)
        case 'Exists':
          return value !== undefined
        case 'DoesNotExist':
          return value === undefined
        default:
          return false
      }
    })
  )
}
