import { type BackupRepository, formatTime, type MaintenanceRun } from '@lateen/api'
import {
  builtInKind,
  type Clock,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  type Logger,
  unlessNotFound,
} from '@lateen/kube'
import type { MaintenanceConfig } from './maintenance-config.ts'
import { DeploymentKind, type Job, JobKind, maintenanceJob } from './maintenance-job.ts'
import { runOf } from './maintenance-runs.ts'

export interface JobPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  clock: Clock
  log: Logger
  signal: AbortSignal
}

export interface NewJob {
  repository: BackupRepository
  config: MaintenanceConfig
  logLevel: string
  logFormat: string
}

/** Begins one maintenance of a repository. Returns the run when it could not even begin. */
export async function startMaintenance(
  { repository, ...how }: NewJob,
  { client, namespace, clock, log, signal }: JobPorts,
): Promise<MaintenanceRun | undefined> {
  const now = clock.now()
  try {
    const server = await client.resource(DeploymentKind, namespace).get('velero', { signal })
    const job = maintenanceJob({ repository, server, now, ...how })
    await client.resource(JobKind, namespace).create(job, { signal })
    log.info({ repository: repository.metadata.name, job: job.metadata.name }, 'maintenance begins')
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    if (isAlreadyExists(error)) return undefined
    log.warn({ err: error, repository: repository.metadata.name }, 'maintenance cannot begin')
    const reason = error instanceof Error ? error.message : String(error)
    const at = formatTime(now)
    const message = `Failed to start maintenance job, err: ${reason}`
    return { result: 'Failed', startTimestamp: at, completeTimestamp: at, message }
  }
}

/** What finished Jobs did. Throws KubeErrors. */
export async function finishedRuns(jobs: readonly Job[], ports: JobPorts): Promise<MaintenanceRun[]> {
  const runs = []
  for (const job of jobs) {
    const run = runOf(job, await lastWordsOf(job, ports))
    const fields = { job: job.metadata.name, ...(run.message && { reason: run.message }) }
    if (run.result === 'Failed') ports.log.warn(fields, 'maintenance failed')
    else ports.log.info(fields, 'maintenance is done')
    runs.push(run)
  }
  return runs
}

/** Removes Jobs and their pods. Throws KubeErrors. */
export async function deleteJobs(
  jobs: readonly Job[],
  { client, namespace, signal }: JobPorts,
): Promise<void> {
  for (const { metadata } of jobs) {
    await client
      .resource(JobKind, namespace)
      .delete(metadata.name ?? '', { propagationPolicy: 'Background', signal })
      .catch(unlessNotFound)
  }
}

interface JobPod extends KubeObject {
  status?: { containerStatuses?: readonly { state?: { terminated?: { message?: string } } }[] }
}

const PodKind = builtInKind<JobPod>('Pod')

/** What the container of a Job said last, while its pod is still there. */
async function lastWordsOf(
  { metadata }: Job,
  { client, namespace, signal }: JobPorts,
): Promise<string | undefined> {
  const labelSelector = `job-name=${metadata.name}`
  for await (const { status } of client.resource(PodKind, namespace).list({ labelSelector, signal })) {
    const message = status?.containerStatuses?.[0]?.state?.terminated?.message
    if (message) return message
  }
  return undefined
}
