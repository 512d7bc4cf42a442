import { builtInKind, type KubeObject } from '@lateen/kube'

/** A pod, as far as its start is watched. */
export interface StartingPod extends KubeObject {
  status?: {
    phase?: string
    conditions?: { type: string; status: string; reason?: string; message?: string }[]
    initContainerStatuses?: ContainerStatus[]
    containerStatuses?: ContainerStatus[]
  }
}

interface ContainerStatus {
  name: string
  ready?: boolean
  restartCount?: number
  state?: ContainerState
  lastState?: ContainerState
}

interface ContainerState {
  waiting?: { reason?: string; message?: string }
  running?: object
  terminated?: { exitCode?: number; reason?: string; message?: string }
}

export const StartingPodKind = builtInKind<StartingPod>('Pod')

/** Why a pod does not come up. */
export interface PodTrouble {
  readonly pod: string
  /** Short and the same while nothing changes, such as `ImagePullBackOff`. */
  readonly reason: string
  readonly message: string
  /** The container that ended, whose last words help. */
  readonly ended?: string
}

/** Reasons to wait that belong to every start. */
const ordinary = new Set(['ContainerCreating', 'PodInitializing'])

/** What keeps a pod from serving, or undefined when it is only on its way. */
export function podTrouble({ metadata, status = {} }: StartingPod): PodTrouble | undefined {
  const pod = metadata.name ?? ''
  const unscheduled = status.conditions?.find(
    ({ type, status: holds }) => type === 'PodScheduled' && holds === 'False',
  )
  if (unscheduled !== undefined) {
    return { pod, reason: unscheduled.reason ?? 'Unschedulable', message: oneLine(unscheduled.message) }
  }
  for (const container of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
    const trouble = containerTrouble(container)
    if (trouble !== undefined) return { pod, ...trouble }
  }
  return undefined
}

function containerTrouble(container: ContainerStatus): Omit<PodTrouble, 'pod'> | undefined {
  const { waiting, terminated } = container.state ?? {}
  if (terminated !== undefined && terminated.exitCode !== 0) return endedBy(container.name, terminated)
  if (waiting === undefined || ordinary.has(waiting.reason ?? '')) return undefined
  const last = container.lastState?.terminated
  if (waiting.reason === 'CrashLoopBackOff') {
    const { message } = endedBy(container.name, last ?? {})
    return { reason: waiting.reason, message, ended: container.name }
  }
  return { reason: waiting.reason ?? 'Waiting', message: oneLine(waiting.message) }
}

function endedBy(
  name: string,
  { exitCode, reason = 'Error' }: NonNullable<ContainerState['terminated']>,
): Omit<PodTrouble, 'pod'> {
  const how = exitCode === undefined ? 'ended' : `ended with exit code ${exitCode}`
  return { reason, message: `container ${name} ${how}`, ended: name }
}

function oneLine(text = ''): string {
  return text.trim().replace(/\s+/g, ' ')
}
