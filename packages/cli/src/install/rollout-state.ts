import type { Workload } from './installed-kinds.ts'

/** How far the pods of a workload are. */
export interface RolloutState {
  readonly done: boolean
  /** Whether the status is about the newest template. */
  readonly observed: boolean
  /** Pods of the newest template that serve, and how many there shall be. */
  readonly ready: number
  readonly wanted: number
  /** What the workload's controller complains about. */
  readonly complaint?: string
}

/** Reads a Deployment's or DaemonSet's status. It is done when only pods of the newest template are left and all serve. */
export function rolloutState(workload: Workload): RolloutState {
  const { status = {}, metadata } = workload
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  const complaint = complaintOf(status.conditions ?? [])
  const counts = workload.kind === 'DaemonSet' ? daemonCounts(workload) : deploymentCounts(workload)
  return {
    observed,
    done: observed && counts.old === 0 && counts.updated >= counts.wanted && counts.ready >= counts.wanted,
    ready: observed ? Math.min(counts.ready, counts.updated) : 0,
    wanted: counts.wanted,
    ...(complaint === undefined ? {} : { complaint }),
  }
}

interface PodCounts {
  wanted: number
  updated: number
  ready: number
  old: number
}

function deploymentCounts({ spec, status = {} }: Workload): PodCounts {
  const updated = status.updatedReplicas ?? 0
  return {
    wanted: spec?.replicas ?? 1,
    updated,
    ready: status.availableReplicas ?? 0,
    old: (status.replicas ?? 0) - updated,
  }
}

function daemonCounts({ status = {} }: Workload): PodCounts {
  return {
    wanted: status.desiredNumberScheduled ?? 0,
    updated: status.updatedNumberScheduled ?? 0,
    ready: status.numberAvailable ?? 0,
    old: 0,
  }
}

function complaintOf(conditions: NonNullable<Workload['status']>['conditions'] & object): string | undefined {
  const failure = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')
  return failure?.message ?? failure?.reason
}
