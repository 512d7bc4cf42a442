import { createHash } from 'node:crypto'
import {
  type BackupRepository,
  inheritedAnnotations,
  inheritedLabels,
  inheritedTolerations,
  labelNames,
  nameOrHash,
} from '@lateen/api'
import { builtInKind, type KubeObject } from '@lateen/kube'
import type { MaintenanceConfig, NodeChoice, PodResources } from './maintenance-config.ts'

/** What is read of the pods of a Deployment. */
export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec: {
    containers: readonly {
      image: string
      env?: readonly object[]
      envFrom?: readonly object[]
      volumeMounts?: readonly object[]
      securityContext?: object
    }[]
    volumes?: readonly object[]
    serviceAccountName?: string
    securityContext?: object
    imagePullSecrets?: readonly object[]
    tolerations?: readonly { key?: string }[]
  }
}

export interface Deployment extends KubeObject {
  spec: { template: PodTemplate }
}

export const DeploymentKind = builtInKind<Deployment>('Deployment')

/** What is read of a Job. */
export interface Job extends KubeObject {
  spec?: object
  status?: JobStatus | undefined
}

export interface JobStatus {
  succeeded?: number
  failed?: number
  completionTime?: string
  conditions?: readonly { type: string; status: string; lastTransitionTime?: string; message?: string }[]
}

export const JobKind = builtInKind<Job>('Job')

/** The label selector for the Jobs of one repository. */
export function jobSelector(repositoryName: string): string {
  return `${labelNames.repositoryName}=${nameOrHash(repositoryName)}`
}

export interface MaintenanceJobFacts {
  repository: BackupRepository
  /** The server's, whose image, account, volumes and environment the Job uses. */
  server: Deployment
  config: MaintenanceConfig
  now: number
  logLevel: string
  logFormat: string
}

const longestJobName = 63

/**
 * Maintenance that has not ended by then never will: no image, no node for it. It counts as failed, and is tried again. What frees space in a large
 * repository may work for days, and would never come to its end if it were stopped.
 */
const LONGEST_JOB_S = 7 * 24 * 3600

/** The Job that maintains a repository once. */
export function maintenanceJob(facts: MaintenanceJobFacts): Job {
  const { repository, now } = facts
  const { name = '', namespace = '' } = repository.metadata
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(name, now),
      namespace,
      labels: { [labelNames.repositoryName]: nameOrHash(name) },
    },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: LONGEST_JOB_S,
      template: podTemplate(facts),
    },
  }
}

/** Velero's, with a hash in the place of what is too long: two repositories may begin at the same moment. */
function jobName(repository: string, now: number): string {
  const full = `${repository}-maintain-job-${now}`
  if (full.length <= longestJobName) return full
  const hash = createHash('sha256').update(repository).digest('hex').slice(0, 16)
  return `repo-${hash}-maintain-job-${now}`
}

function podTemplate(facts: MaintenanceJobFacts): object {
  const { repository, server, config } = facts
  const { metadata = {}, spec } = server.spec.template
  const affinity = config.loadAffinity?.[0] && affinityOf(config.loadAffinity[0])
  const ownLabels = config.podLabels ?? {}
  const labels = Object.keys(ownLabels).length > 0 ? ownLabels : onlyNamed(metadata.labels, inheritedLabels)
  const ownAnnotations = config.podAnnotations ?? {}
  const annotations =
    Object.keys(ownAnnotations).length > 0
      ? ownAnnotations
      : onlyNamed(metadata.annotations, inheritedAnnotations)
  return {
    metadata: {
      name: 'velero-repo-maintenance-pod',
      labels: { [labelNames.repositoryName]: nameOrHash(repository.metadata.name ?? ''), ...labels },
      annotations,
    },
    spec: {
      restartPolicy: 'Never',
      containers: [container(facts)],
      ...(affinity !== undefined && { affinity }),
      ...(config.priorityClassName && { priorityClassName: config.priorityClassName }),
      ...(spec.securityContext && { securityContext: spec.securityContext }),
      ...(spec.volumes && { volumes: spec.volumes }),
      ...(spec.serviceAccountName && { serviceAccountName: spec.serviceAccountName }),
      ...(spec.imagePullSecrets && { imagePullSecrets: spec.imagePullSecrets }),
      tolerations: tolerationsOf(spec.tolerations),
    },
  }
}

function container({ repository, server, config, logLevel, logFormat }: MaintenanceJobFacts): object {
  const { volumeNamespace, backupStorageLocation, repositoryType = '' } = repository.spec
  const [first] = server.spec.template.spec.containers
  return {
    name: 'velero-repo-maintenance-container',
    image: first?.image,
    imagePullPolicy: 'IfNotPresent',
    command: ['/velero'],
    args: [
      'repo-maintenance',
      `--repo-name=${volumeNamespace}`,
      `--repo-type=${repositoryType}`,
      `--backup-storage-location=${backupStorageLocation}`,
      `--log-level=${logLevel}`,
      `--log-format=${logFormat}`,
    ],
    ...(first?.env && { env: first.env }),
    ...(first?.envFrom && { envFrom: first.envFrom }),
    ...(first?.volumeMounts && { volumeMounts: first.volumeMounts }),
    ...(first?.securityContext && { securityContext: first.securityContext }),
    resources: resourcesOf(config.podResources ?? {}),
    // What went wrong is the last thing that it says.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  }
}

/** The labels or annotations of these names that are there. */
export function onlyNamed(
  given: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(names.flatMap(name => (given?.[name] ? [[name, given[name]]] : [])))
}

function tolerationsOf(given: readonly { key?: string }[] = []): object[] {
  const windows = { key: 'os', operator: 'Equal', value: 'windows', effect: 'NoSchedule' }
  const inherited = inheritedTolerations.map(key => given.find(toleration => toleration.key === key))
  return [windows, ...inherited.filter(toleration => toleration !== undefined)]
}

/** A choice of nodes as Kubernetes takes it for pods; undefined when every node will do. */
export function affinityOf({ nodeSelector }: NodeChoice): object | undefined {
  const byLabel = Object.entries(nodeSelector.matchLabels ?? {}).map(([key, value]) => ({
    ...{ key, operator: 'In', values: [value] },
  }))
  const matchExpressions = [...byLabel, ...(nodeSelector.matchExpressions ?? [])]
  if (matchExpressions.length === 0) return undefined
  const terms = { nodeSelectorTerms: [{ matchExpressions }] }
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } }
}

/** Requests and limits as Kubernetes takes them, without those that are 0. */
export function resourcesOf(given: PodResources): object {
  const part = (cpu?: string, memory?: string, storage?: string) => {
    const all = { cpu, memory, 'ephemeral-storage': storage }
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value && value !== '0'))
  }
  const requests = part(given.cpuRequest, given.memoryRequest, given.ephemeralStorageRequest)
  const limits = part(given.cpuLimit, given.memoryLimit, given.ephemeralStorageLimit)
  return {
    ...(Object.keys(requests).length > 0 && { requests }),
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}
