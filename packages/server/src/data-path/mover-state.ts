import { builtInKind, type KubeObject } from '@lateen/kube'

interface ContainerStatus {
  name: string
  state?: {
    waiting?: { reason?: string; message?: string }
    running?: object
    terminated?: { exitCode?: number; reason?: string; message?: string }
  }
}

/** What is read of pods. */
export interface Pod extends KubeObject {
  spec?: {
    nodeName?: string
    volumes?: readonly PodVolume[]
    initContainers?: readonly { name: string }[]
    containers?: readonly object[]
  }
  status?: {
    phase?: string
    reason?: string
    message?: string
    conditions?: readonly { type: string; status: string; reason?: string; message?: string }[]
    containerStatuses?: readonly ContainerStatus[]
    initContainerStatuses?: readonly ContainerStatus[]
  }
}

export interface PodVolume {
  name: string
  persistentVolumeClaim?: { claimName: string }
  csi?: object
  hostPath?: object
}

export const PodKind = builtInKind<Pod>('Pod')

/** How the pod of a mover stands. */
export type MoverState =
  | { readonly type: 'absent' }
  /** On its way, so far as anyone can tell. */
  | { readonly type: 'coming' }
  | { readonly type: 'running' }
  /** Will never run. */
  | { readonly type: 'broken'; readonly reason: string }
  | { readonly type: 'ended'; readonly well: boolean; readonly lastWords: string }

/** Reasons for which a container waits and waiting does not help. */
const hopeless = ['ImagePullBackOff', 'ErrImageNeverPull', 'InvalidImageName', 'CreateContainerConfigError']

/** What a pod's status means for the mover in it. */
export function moverState(pod: Pod | undefined): MoverState {
  if (pod === undefined) return { type: 'absent' }
  const { phase, containerStatuses = [] } = pod.status ?? {}
  const [container] = containerStatuses
  if (phase === 'Succeeded' || phase === 'Failed') {
    return { type: 'ended', well: phase === 'Succeeded', lastWords: lastWordsOf(pod) }
  }
  if (phase === 'Unknown')
    return { type: 'broken', reason: pod.status?.message ?? 'its node does not answer' }
  if (phase === 'Running') return { type: 'running' }
  const waiting = container?.state?.waiting
  if (waiting?.reason !== undefined && hopeless.includes(waiting.reason)) {
    return { type: 'broken', reason: withRemedy(waiting.reason, waiting) }
  }
  return { type: 'coming' }
}

function lastWordsOf({ status }: Pod): string {
  const terminated = status?.containerStatuses?.[0]?.state?.terminated
  if (terminated?.message) return terminated.message
  const { reason = status?.reason, exitCode } = terminated ?? {}
  if (reason === undefined) return status?.message ?? 'it ended without a word'
  const shown = exitCode === undefined ? reason : `${reason} (exit code ${exitCode})`
  // Where the news of the kernel's killing comes after that of the end, containerd tells no better reason than this.
  const killed = reason === 'Error' && exitCode === 137
  return withRemedy(killed ? 'Killed' : reason, { reason: shown, message: status?.message })
}

const inTheConfigMap = "in the node agent's ConfigMap"

/** What can be done where a mover could not say it, by the reason that Kubernetes gives. */
const remedies: Readonly<Record<string, string>> = {
  OOMKilled: `It needed more memory than it may have: raise podResources.memoryLimit ${inTheConfigMap}`,
  Killed: `It was killed; where nobody did it, it needed more memory than it may have: raise podResources.memoryLimit ${inTheConfigMap}`,
  Evicted: `Free the node of what it is short of, or ask for it with podResources ${inTheConfigMap}`,
  OutOfcpu: `Ask for less with podResources.cpuRequest ${inTheConfigMap}`,
  OutOfmemory: `Ask for less with podResources.memoryRequest ${inTheConfigMap}`,
  ErrImageNeverPull:
    "Movers run the image that the node agent's DaemonSet names, which has to be on the node: correct it, or wait until the node agent runs from it",
}

function withRemedy(
  key: string,
  { reason, message }: { reason?: string | undefined; message?: string | undefined },
): string {
  const what = [reason, message?.trim().replace(/\.$/, '')].filter(Boolean).join(': ')
  const remedy = remedies[key]
  return remedy === undefined ? what : `${what}. ${remedy}`
}

/** What is wrong with a pod that does not come up, in a few lines for people. */
export function diagnosePod(pod: Pod | undefined, events: readonly string[]): string {
  if (pod === undefined) return 'the pod does not exist'
  const { metadata, spec, status } = pod
  const conditions = (status?.conditions ?? [])
    .filter(({ status }) => status !== 'True')
    .map(({ type, reason, message }) => `${type}: ${[reason, message].filter(Boolean).join(', ')}`)
  const waiting = (status?.containerStatuses ?? [])
    .map(({ state }) => state?.waiting)
    .filter(state => state !== undefined)
    .map(({ reason, message }) => [reason, message].filter(Boolean).join(': '))
  const where = spec?.nodeName ? `on node ${spec.nodeName}` : 'on no node'
  const first = `pod ${metadata.namespace}/${metadata.name} is ${status?.phase ?? 'unknown'} ${where}`
  return [first, ...waiting, ...conditions, ...events].join('; ')
}
