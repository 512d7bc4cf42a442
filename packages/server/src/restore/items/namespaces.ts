import { type Clock, isAlreadyExists } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { groupResource } from '../../item/item.ts'
import { messageOf } from '../../item/item-error.ts'
import { parseItem } from '../../item/item-json.ts'
import type { BackupArchive } from '../archive/backup-archive.ts'
import { createSurely } from '../sink/create-surely.ts'
import type { RestoreSink, SinkTarget } from '../sink/sink.ts'
import { namespaceType } from './core-types.ts'
import { explainRefusal } from './explain-refusal.ts'
import { RestoreItemError } from './restore-item-error.ts'
import { throwIfOver } from './throw-if-over.ts'

/** A namespace of the backup, and what it is called in the cluster. */
export interface MappedNamespace {
  source: string
  target: string
}

/** What it took to have a namespace. */
export interface ReadyNamespace {
  /** What was sent to create it; undefined when it was there. */
  readonly created: ActionItem | undefined
  readonly note?: string | undefined
}

export interface NamespacesOptions {
  archive: BackupArchive
  sink: RestoreSink
  clock: Clock
  /** How long to wait for one that is being deleted, in milliseconds. */
  terminatingMs: number
}

const namespaces = groupResource({ group: '', plural: 'namespaces' })
const pollMs = 1_000

interface Namespace extends ActionItem {
  status?: { phase?: string }
}

/** The namespaces that a restore writes to. Each is made sure of once, whoever asks. */
export class Namespaces {
  readonly #options: NamespacesOptions
  readonly #ready = new Map<string, Promise<ReadyNamespace>>()

  constructor(options: NamespacesOptions) {
    this.#options = options
  }

  /** Whether someone has asked for this namespace of the cluster already. */
  isKnown(target: string): boolean {
    return this.#ready.has(target)
  }

  /**
   * Resolves when the namespace is there to be written to, with labels, annotations and spec of the backup if it had to be created.
   * Throws RestoreItemError `NAMESPACE_UNUSABLE`, the same one for all who ask, or the reason of the signal of who asked first.
   */
  ensure(namespace: MappedNamespace, signal: AbortSignal): Promise<ReadyNamespace> {
    let ready = this.#ready.get(namespace.target)
    if (ready === undefined) {
      ready = this.#create(namespace, signal)
      this.#ready.set(namespace.target, ready)
    }
    return ready
  }

  async #create(namespace: MappedNamespace, signal: AbortSignal): Promise<ReadyNamespace> {
    const { clock, terminatingMs } = this.#options
    const wanted = await this.#namespaceFor(namespace)
    const giveUp = clock.now() + terminatingMs
    while (await this.#isLeaving(namespace.target, signal)) {
      if (clock.now() >= giveUp) throw stillTerminating(namespace.target, terminatingMs)
      await clock.sleep(pollMs, signal)
    }
    return this.#send(wanted, signal)
  }

  async #send(wanted: ActionItem, signal: AbortSignal): Promise<ReadyNamespace> {
    const { sink } = this.#options
    const name = wanted.metadata.name ?? ''
    try {
      const request = { target: targetOf(name), object: wanted, options: { signal }, isOurs: () => true }
      const { note } = await createSurely(sink, request)
      return { created: wanted, note }
    } catch (error) {
      throwIfOver(error, signal)
      if (isAlreadyExists(error) || (await sink.read(targetOf(name), { signal })) !== undefined) {
        return { created: undefined }
      }
      const { said, hint } = explainRefusal(error, wanted)
      throw unusable(name, { message: `error creating namespace ${name}: ${said}`, hint, cause: error })
    }
  }

  /** Absent ones are not leaving. A sink that does not write cannot wait. */
  async #isLeaving(name: string, signal: AbortSignal): Promise<boolean> {
    const { sink } = this.#options
    const live = (await sink.read(targetOf(name), { signal })) as Namespace | undefined
    if (live === undefined || !sink.writes) return false
    return live.metadata.deletionTimestamp !== undefined || live.status?.phase === 'Terminating'
  }

  async #namespaceFor({ source, target }: MappedNamespace): Promise<ActionItem> {
    const { archive } = this.#options
    const stored = archive.find({ groupResource: namespaces, namespace: '', name: source })
    const bare = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: target } }
    if (stored === undefined) return bare
    try {
      const { metadata, spec } = parseItem(await archive.load(stored))
      const { labels, annotations } = metadata
      return {
        ...bare,
        metadata: { name: target, ...(labels && { labels }), ...(annotations && { annotations }) },
        ...(spec !== undefined && { spec }),
      }
    } catch (error) {
      if (error instanceof SyntaxError) return bare
      throw error
    }
  }
}

function targetOf(name: string): SinkTarget {
  return { type: namespaceType, namespace: '', name }
}

function stillTerminating(name: string, waitedMs: number): RestoreItemError {
  return unusable(name, {
    message: `timed out waiting for terminating namespace ${name} to disappear before restoring (${waitedMs / 1000} s)`,
    hint: `see what holds it (kubectl get namespace ${name} -o yaml), or restore again with a longer --terminating-resource-timeout`,
  })
}

function unusable(
  name: string,
  details: { message: string; hint: string; cause?: unknown },
): RestoreItemError {
  return new RestoreItemError(
    'NAMESPACE_UNUSABLE',
    { groupResource: namespaces, namespace: '', name },
    details,
  )
}

/** What a failure to have a namespace says, whatever it is. */
export function namespaceFailure(error: unknown, name: string): RestoreItemError {
  if (error instanceof RestoreItemError) return error
  return unusable(name, {
    message: `error getting namespace ${name}: ${messageOf(error)}`,
    hint: '',
    cause: error,
  })
}
