import { basename } from 'node:path'
import {
  builtInKind,
  type Clock,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type Logger,
} from '@lateen/kube'

interface Container {
  image?: string
  command?: string[]
  args?: string[]
}

/** As much of a Pod as tells whether a server runs in it. */
export interface ServerPod extends KubeObject {
  spec?: { containers: Container[] }
  status?: { phase?: string }
}

const PodKind = builtInKind<ServerPod>('Pod')

/** A pod on a node that is lost never ends, as far as anybody can see. */
const LONGEST_WAIT_MS = 60_000
const POLL_MS = 250

export interface PredecessorScope {
  client: KubeClient
  namespace: string
  /** The pod that this process runs in; a name that no pod has when it runs elsewhere. */
  podName: string
  /** Whether the server competes with other replicas for a lease. */
  elects: boolean
  log: Logger
  clock: Clock
  signal: AbortSignal
}

/**
 * Waits until the server that this one replaces has ended. A Velero knows nothing of our lease: for a moment both would work on the same
 * objects, and one would report as interrupted what the other does. Goes on with a warning after a minute, and when it may not look.
 * Returns at once outside of a pod, and when the signal aborts.
 */
export async function predecessorsGone(scope: PredecessorScope): Promise<void> {
  const { namespace, log, clock, signal } = scope
  const deadline = clock.now() + LONGEST_WAIT_MS
  let told = false
  while (!signal.aborted) {
    const pods = predecessorsOf(scope, await podsIn(scope))
    if (pods.length === 0) return
    if (clock.now() >= deadline) {
      log.warn({ namespace, pods }, 'another server does not end, going on beside it')
      return
    }
    if (!told) log.info({ namespace, pods }, 'waiting for another server to end')
    told = true
    await clock.sleep(POLL_MS, signal).catch(error => {
      if (!signal.aborted) throw error
    })
  }
}

/** The names of pods with a server of another image than the pod of that name has, or, without election, with any earlier one. */
export function predecessorsOf(
  { podName, elects }: Pick<PredecessorScope, 'podName' | 'elects'>,
  pods: readonly ServerPod[],
): string[] {
  const self = pods.find(({ metadata }) => metadata.name === podName)
  const own = serverIn(self)
  if (self === undefined || own === undefined) return []
  const isPredecessor = (pod: ServerPod) => {
    const server = serverIn(pod)
    if (server === undefined || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed')
      return false
    return server.image !== own.image || (!elects && createdAt(pod) < createdAt(self))
  }
  return pods.filter(isPredecessor).map(({ metadata }) => metadata.name ?? '')
}

function createdAt({ metadata }: ServerPod): string {
  return metadata.creationTimestamp ?? ''
}

/** Velero's and ours have the same command line, but for the program's name. */
function serverIn(pod: ServerPod | undefined): Container | undefined {
  return pod?.spec?.containers.find(
    ({ command = [], args = [] }) =>
      ['velero', 'lateen'].includes(basename(command[0] ?? '')) && args[0] === 'server',
  )
}

async function podsIn({ client, namespace, log, signal }: PredecessorScope): Promise<ServerPod[]> {
  try {
    return await client.resource(PodKind, namespace).list({ signal }).toArray()
  } catch (error) {
    if (signal.aborted) return []
    if (!isForbidden(error)) throw error
    log.warn({ namespace, err: error }, 'may not see whether another server still runs')
    return []
  }
}
