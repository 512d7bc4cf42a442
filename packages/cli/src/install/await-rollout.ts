import { builtInKind, type KubeObject, type Listing, type ResourceType } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { Progress } from '../output/progress.ts'
import type { InstallPorts } from './install-ports.ts'
import { DaemonSetKind, DeploymentKind, type Workload } from './installed-kinds.ts'
import { podTrouble, type StartingPod, StartingPodKind } from './pod-trouble.ts'
import { type RolloutState, rolloutState } from './rollout-state.ts'

const POLL_MS = 500
const LAST_WORDS = 5
const MOST_LOG_BYTES = 16_384

const revisionAnnotation = 'deployment.kubernetes.io/revision'

const ReplicaSetKind = builtInKind('ReplicaSet')

/** The workload to wait for and until when. */
export interface RolloutWait {
  readonly workload: KubeObject
  /** Milliseconds since the epoch, by the clock of the ports. */
  readonly deadline: number
}

/**
 * Waits until all pods of a workload are of its newest template and serve. Says what keeps a pod from that as soon as it is
 * known. Throws a CliError (`TIMEOUT`) with the last reason at the deadline.
 */
export async function* awaitRollout(
  { workload, deadline }: RolloutWait,
  ports: InstallPorts,
): AsyncGenerator<string | Progress> {
  const { client, clock, signal } = ports
  const { name = '', namespace = '' } = workload.metadata
  const id = `${workload.kind}/${name}`
  const kind: ResourceType<Workload> = workload.kind === 'Deployment' ? DeploymentKind : DaemonSetKind
  const started = clock.now()
  const told = new Set<string>()
  let last = ''
  yield `Waiting for ${id} to be ready.`
  for (;;) {
    const found = await client.resource(kind, namespace).get(name, { signal })
    const state = rolloutState(found)
    if (state.done) break
    const trouble = state.observed ? await troubleOf(found, state, ports) : undefined
    if (trouble !== undefined && !told.has(trouble.key)) {
      told.add(trouble.key)
      last = `${trouble.text}${await lastWords(trouble, namespace, ports)}`
      yield `${id}: ${last}`
    }
    if (clock.now() >= deadline) throw notReady(found, state, last)
    yield progressOf(id, state, clock.now() - started)
    await clock.sleep(POLL_MS, signal)
  }
  yield `${id}: ready`
}

function progressOf(id: string, { ready, wanted }: RolloutState, elapsedMs: number): Progress {
  const phase = wanted === 0 ? `${id}: no pods yet` : `${id}: ${ready} of ${wanted} pods ready`
  return { phase, done: 0, total: 0, elapsedMs }
}

/** What keeps a workload from being ready. */
interface Trouble {
  /** The same while nothing changes. */
  readonly key: string
  readonly text: string
  /** The pod and container that ended, if one did. */
  readonly pod?: string
  readonly ended?: string
}

/** The first thing that keeps the workload from being ready. */
async function troubleOf(
  workload: Workload,
  { complaint }: RolloutState,
  ports: InstallPorts,
): Promise<Trouble | undefined> {
  const { namespace = '' } = workload.metadata
  const newest = await newestPods(workload, ports)
  if (newest === undefined) return complaintOnly(complaint)
  const labels = Object.entries({ ...workload.spec?.selector?.matchLabels, ...newest })
  const labelSelector = labels.map(([key, value]) => `${key}=${value}`).join(',')
  const pods: Listing<StartingPod> = ports.client
    .resource(StartingPodKind, namespace)
    .list({ labelSelector, signal: ports.signal })
  for await (const pod of pods) {
    if (pod.metadata.deletionTimestamp !== undefined) continue
    const trouble = podTrouble(pod)
    if (trouble === undefined) continue
    const { pod: name, reason, message, ended } = trouble
    return {
      key: `${name} ${reason}`,
      text: `pod ${name}: ${[reason, message].filter(Boolean).join(': ')}`,
      ...(ended === undefined ? {} : { pod: name, ended }),
    }
  }
  return complaintOnly(complaint)
}

function complaintOnly(complaint: string | undefined): Trouble | undefined {
  return complaint === undefined ? undefined : { key: complaint, text: complaint }
}

/** The label that pods of the newest template carry; undefined until there are such pods. */
async function newestPods(
  { kind, metadata, spec }: Workload,
  { client, signal }: InstallPorts,
): Promise<Record<string, string> | undefined> {
  const { annotations, namespace, uid } = metadata
  if (kind === 'DaemonSet') {
    const generation = annotations?.['deprecated.daemonset.template.generation']
    return generation === undefined ? undefined : { 'pod-template-generation': generation }
  }
  const selector = Object.entries(spec?.selector?.matchLabels ?? {})
  const labelSelector = selector.map(([key, value]) => `${key}=${value}`).join(',')
  for await (const set of client.resource(ReplicaSetKind, namespace).list({ labelSelector, signal })) {
    const { ownerReferences = [], labels, annotations: own } = set.metadata
    const hash = labels?.['pod-template-hash']
    const isNewest = own?.[revisionAnnotation] === annotations?.[revisionAnnotation]
    if (isNewest && hash !== undefined && ownerReferences.some(owner => owner.uid === uid))
      return { 'pod-template-hash': hash }
  }
  return undefined
}

/** The end of what a container said before it ended, if it can be had. */
async function lastWords(
  { pod, ended }: Trouble,
  namespace: string,
  { client, signal }: InstallPorts,
): Promise<string> {
  if (pod === undefined || ended === undefined) return ''
  for (const previous of [false, true]) {
    try {
      const source = { namespace, name: pod, container: ended }
      const stream = await client.logs(source, { previous, tailLines: LAST_WORDS, signal })
      let text = ''
      for await (const chunk of stream) {
        text += String(chunk)
        if (text.length > MOST_LOG_BYTES) break
      }
      const lines = text.trim().split('\n').filter(Boolean)
      if (lines.length > 0) return `, after saying: ${lines.join(' | ')}`
    } catch {
      signal.throwIfAborted()
    }
  }
  return ''
}

function notReady({ kind, metadata }: Workload, state: RolloutState, trouble: string): CliError {
  const { name, namespace } = metadata
  const counts = `${state.ready} of ${state.wanted} pods are ready`
  return new CliError(
    'TIMEOUT',
    `${kind} ${namespace}/${name} is not ready in time: ${counts}${trouble === '' ? '' : `; ${trouble}`}`,
    { hint: hintFor(trouble, { kind, namespace: namespace ?? '', name: name ?? '' }) },
  )
}

function hintFor(
  trouble: string,
  { kind, namespace, name }: { kind: string; namespace: string; name: string },
): string {
  if (/ImagePull|ErrImage|InvalidImageName/.test(trouble)) {
    return 'all objects are in place: give an image that the nodes can pull with --image and run the command again'
  }
  const target = `${kind.toLowerCase()}/${name}`
  return `all objects are in place: look at 'kubectl -n ${namespace} describe ${target}' and 'kubectl -n ${namespace} logs ${target}', and give it longer with --wait-timeout`
}
