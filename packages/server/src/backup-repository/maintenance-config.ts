import type { BackupRepositorySpec } from '@lateen/api'
import { RepositoryError } from './repository-error.ts'

/** Where pods may run; the names of Kubernetes' label selectors. */
export interface NodeChoice {
  readonly nodeSelector: {
    readonly matchLabels?: Readonly<Record<string, string>>
    readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[]
  }
}

/** Quantities of Kubernetes; `0` and absent mean no limit. */
export interface PodResources {
  readonly cpuRequest?: string
  readonly cpuLimit?: string
  readonly memoryRequest?: string
  readonly memoryLimit?: string
  readonly ephemeralStorageRequest?: string
  readonly ephemeralStorageLimit?: string
}

/** How maintenance Jobs are made. */
export interface MaintenanceConfig {
  /** Only the first counts. */
  readonly loadAffinity?: readonly NodeChoice[]
  readonly podResources?: PodResources
  readonly keepLatestMaintenanceJobs?: number
  readonly priorityClassName?: string
  readonly podAnnotations?: Readonly<Record<string, string>>
  readonly podLabels?: Readonly<Record<string, string>>
}

/** How many finished Jobs of a repository stay when nobody says. */
export const defaultKeptJobs = 3

const onlyGlobal = ['priorityClassName', 'podAnnotations', 'podLabels'] as const

/**
 * The settings for the Jobs of one repository from the ConfigMap of `--repo-maintenance-job-configmap`: those under the repository's own
 * key, then those under `global`. Priority class, annotations and labels are read from `global` alone. Throws `INVALID_CONFIG`.
 */
export function parseMaintenanceConfig(
  data: Readonly<Record<string, string>>,
  { repository, name }: { repository: BackupRepositorySpec; name: string },
): MaintenanceConfig {
  const { volumeNamespace, backupStorageLocation, repositoryType = '' } = repository
  const own = parsed(data, { key: `${volumeNamespace}-${backupStorageLocation}-${repositoryType}`, name })
  const global = parsed(data, { key: 'global', name })
  const ownPart = Object.fromEntries(
    Object.entries(own).filter(([key]) => !onlyGlobal.some(one => one === key)),
  )
  return { ...global, ...ownPart }
}

function parsed(
  data: Readonly<Record<string, string>>,
  { key, name }: { key: string; name: string },
): MaintenanceConfig {
  const text = data[key]
  if (text === undefined) return {}
  const problem = (reason: string, cause?: unknown) =>
    new RepositoryError('INVALID_CONFIG', {
      reason: `the key ${JSON.stringify(key)} of the ConfigMap ${name} ${reason}`,
      hint: 'Write it like {"podResources": {"cpuLimit": "1"}, "keepLatestMaintenanceJobs": 3}',
      cause,
    })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw problem('is no JSON', error)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw problem('is no JSON object')
  const config = value as MaintenanceConfig
  const { loadAffinity, keepLatestMaintenanceJobs: kept } = config
  if (loadAffinity !== undefined && !Array.isArray(loadAffinity))
    throw problem('has a loadAffinity that is no list')
  if (loadAffinity?.some(choice => typeof choice?.nodeSelector !== 'object')) {
    throw problem('has a loadAffinity without a nodeSelector')
  }
  if (kept !== undefined && !(Number.isSafeInteger(kept) && kept >= 0)) {
    throw problem('has a keepLatestMaintenanceJobs that is no whole number')
  }
  return config
}
