import {
  type Clock,
  isGone,
  isLaterVersion,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Logger,
  patiently,
  type ResourceClient,
} from '@lateen/kube'
import { podType, type WatchedPod } from './next-pod-step.ts'

/** A pod as it was when someone began to wait for it. */
export type CreatedPod = KubeObject

export interface PodWatchPorts {
  client: KubeClient
  clock: Clock
  log: Logger
}

/**
 * Tells of pods that somebody waits for. All pods of a namespace share one watch, so that any number of them may be waited for at the
 * same time.
 */
export class PodWatch implements AsyncDisposable {
  readonly #ports: PodWatchPorts
  readonly #stop = new AbortController()
  readonly #namespaces = new Map<string, NamespaceWatch>()

  constructor(ports: PodWatchPorts) {
    this.#ports = ports
  }

  /**
   * The pod as it was created, and after every change that somebody is there to see; undefined where it does not exist any more. Throws
   * KubeError and the signal's reason.
   */
  async *states(pod: CreatedPod, signal: AbortSignal): AsyncGenerator<WatchedPod | undefined> {
    const { namespace = '' } = pod.metadata
    let watch = this.#namespaces.get(namespace)
    if (watch === undefined) {
      watch = new NamespaceWatch({ ...this.#ports, namespace, signal: this.#stop.signal })
      this.#namespaces.set(namespace, watch)
    }
    const mailbox = watch.register(pod)
    try {
      for (;;) yield await mailbox.next(signal)
    } finally {
      watch.unregister(pod, mailbox)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('nobody waits for pods any more'))
    await Promise.all([...this.#namespaces.values()].map(({ ended }) => ended))
  }
}

/** The latest state of one pod, for one who waits. */
class Mailbox {
  readonly uid: string | undefined
  #news: { state: WatchedPod | undefined } | undefined
  #failure: { error: unknown } | undefined
  #wake = Promise.withResolvers<void>()
  #version: string | undefined

  constructor(pod: CreatedPod) {
    this.uid = pod.metadata.uid
    this.#news = { state: pod }
    this.#version = pod.metadata.resourceVersion
  }

  /** What is older than the last news, because it took longer to come, is none. A pod that is gone may have a version, too. */
  put(state: WatchedPod | undefined, version = state?.metadata.resourceVersion): void {
    if (isLaterVersion(this.#version, version)) return
    this.#version = version ?? this.#version
    this.#news = { state }
    this.#wake.resolve()
  }

  fail(error: unknown): void {
    this.#failure = { error }
    this.#wake.resolve()
  }

  async next(signal: AbortSignal): Promise<WatchedPod | undefined> {
    const stopped = Promise.withResolvers<void>()
    const stop = () => stopped.resolve()
    signal.addEventListener('abort', stop, { once: true })
    try {
      for (;;) {
        signal.throwIfAborted()
        if (this.#failure !== undefined) throw this.#failure.error
        const news = this.#news
        this.#news = undefined
        if (news !== undefined) return news.state
        await Promise.race([this.#wake.promise, stopped.promise])
        this.#wake = Promise.withResolvers()
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

interface NamespaceWatchOptions extends PodWatchPorts {
  namespace: string
  signal: AbortSignal
}

class NamespaceWatch {
  readonly #pods: ResourceClient<WatchedPod>
  /** As the watch itself outlasts an API server that is away. */
  readonly #patience: Pick<PodWatchPorts, 'clock' | 'log'>
  readonly #signal: AbortSignal
  readonly #mailboxes = new Map<string, Set<Mailbox>>()
  #since: string | undefined
  /** Never rejects. */
  ended: Promise<void> = Promise.resolve()

  constructor({ client, clock, log, namespace, signal }: NamespaceWatchOptions) {
    this.#pods = client.resource(podType, namespace)
    this.#patience = { clock, log }
    this.#signal = signal
  }

  register(pod: CreatedPod): Mailbox {
    const { name = '', resourceVersion = '' } = pod.metadata
    const mailbox = new Mailbox(pod)
    const others = this.#mailboxes.get(name)
    if (others === undefined) this.#mailboxes.set(name, new Set([mailbox]))
    else others.add(mailbox)
    if (this.#since === undefined) {
      this.#since = resourceVersion
      this.ended = this.#run()
    } else if (!isLaterVersion(resourceVersion, this.#since)) void this.#look(name, mailbox)
    return mailbox
  }

  unregister({ metadata }: CreatedPod, mailbox: Mailbox): void {
    const { name = '' } = metadata
    const mailboxes = this.#mailboxes.get(name)
    mailboxes?.delete(mailbox)
    if (mailboxes?.size === 0) this.#mailboxes.delete(name)
  }

  /** What became of a pod before the watch began. */
  async #look(name: string, mailbox: Mailbox): Promise<void> {
    try {
      const read = () => this.#pods.get(name, { signal: this.#signal })
      mailbox.put(await patiently(read, { ...this.#patience, signal: this.#signal }))
    } catch (error) {
      if (isNotFound(error)) mailbox.put(undefined)
      else mailbox.fail(error)
    }
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        await this.#watch()
        await patiently(() => this.#list(), { ...this.#patience, signal: this.#signal })
      }
    } catch (error) {
      for (const mailbox of this.#all()) mailbox.fail(error)
    }
  }

  /** Ends when the version is too old to watch from. */
  async #watch(): Promise<void> {
    const options = { resourceVersion: this.#since, signal: this.#signal }
    try {
      for await (const event of this.#pods.watch(options)) {
        if (event.type === 'BOOKMARK') continue
        // Who comes later for a pod of this version has missed what was told of it.
        this.#since = event.object.metadata.resourceVersion ?? this.#since
        this.#tell(event.object, event.type === 'DELETED')
      }
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }

  async #list(): Promise<void> {
    const known = new Set(this.#all())
    const missing = new Set(this.#mailboxes.keys())
    const listing = this.#pods.list({ signal: this.#signal })
    for await (const pod of listing) {
      missing.delete(pod.metadata.name ?? '')
      this.#tell(pod, false)
    }
    this.#since = listing.resourceVersion ?? ''
    for (const [name, mailboxes] of this.#mailboxes) {
      for (const mailbox of mailboxes) {
        // One that came meanwhile may have missed its pod.
        if (!known.has(mailbox)) void this.#look(name, mailbox)
        else if (missing.has(name)) mailbox.put(undefined)
      }
    }
  }

  #tell(pod: WatchedPod, isDeleted: boolean): void {
    const { name = '', uid } = pod.metadata
    for (const mailbox of this.#mailboxes.get(name) ?? []) {
      // The end of a pod that had the name before is no news.
      if (isDeleted && mailbox.uid !== undefined && mailbox.uid !== uid) continue
      mailbox.put(isDeleted ? undefined : pod, pod.metadata.resourceVersion)
    }
  }

  *#all(): Iterable<Mailbox> {
    for (const mailboxes of this.#mailboxes.values()) yield* mailboxes
  }
}
