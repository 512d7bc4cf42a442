import type { KubeClient, KubeObject, ResourceType } from '@lateen/kube'

/** An object that was there at some time while it was recorded. */
export interface RecordedObject {
  /** As it was last seen. */
  object: KubeObject
  /** The number of events before it came. */
  readonly since: number
  gone: boolean
}

/** Everything that is created while it is open, of some kinds and in the whole cluster. */
export class ObjectRecord implements AsyncDisposable {
  readonly #ending = new AbortController()
  readonly #watches: Promise<void>[] = []
  readonly #seen = new Map<string, RecordedObject>()
  #events = 0

  /** Begins to record: what is there already is not in it. */
  static async of(client: KubeClient, kinds: readonly ResourceType<KubeObject>[]): Promise<ObjectRecord> {
    const record = new ObjectRecord()
    await Promise.all(kinds.map(kind => record.#watch(client, kind)))
    return record
  }

  /** How much has been recorded by now, to ask for what came `since`. */
  get now(): number {
    return this.#events
  }

  /** What was created from a moment on. */
  since(moment: number): RecordedObject[] {
    return [...this.#seen.values()].filter(each => each.since >= moment)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    await Promise.all(this.#watches)
  }

  async #watch(client: KubeClient, kind: ResourceType<KubeObject>): Promise<void> {
    const { signal } = this.#ending
    const objects = client.resource(kind)
    const listing = objects.list({ signal })
    const before = new Set<string>()
    for await (const { metadata } of listing) before.add(metadata.uid ?? '')
    const follow = async () => {
      const { resourceVersion } = listing
      for await (const event of objects.watch({ resourceVersion, signal })) {
        if (event.type === 'BOOKMARK' || before.has(event.object.metadata.uid ?? '')) continue
        this.#note(event.object, event.type === 'DELETED')
      }
    }
    this.#watches.push(
      follow().catch((error: unknown) => {
        if (!signal.aborted) throw error
      }),
    )
  }

  #note(object: KubeObject, gone: boolean): void {
    const uid = object.metadata.uid ?? ''
    const known = this.#seen.get(uid)
    if (known === undefined) this.#seen.set(uid, { object, since: this.#events, gone })
    else Object.assign(known, { object, gone })
    this.#events += 1
  }
}
