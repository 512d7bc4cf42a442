import { KubeError, type Logger } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { parseItem } from '../../item/item-json.ts'
import type { RestoreSink, SinkTarget } from '../sink/sink.ts'

export interface ExistingObjectsOptions {
  sink: RestoreSink
  log: Logger
  /** After so many objects that were there already, all of that type and namespace are listed. By default 4. */
  listAfter?: number
  /** Bytes of JSON that are kept. By default 32 MiB. */
  limit?: number
}

const resourceQuotas = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
} as const

interface Place {
  met: number
  listed: Promise<void> | undefined
  readonly objects: Map<string, Uint8Array>
}

/**
 * Objects of the cluster that a restore meets. Looking for each one before it is created would double the requests into an empty
 * cluster, so an object is looked for when creating it failed; where many are there already, one list finds the rest before it is
 * tried in vain. In a namespace with a quota nothing is tried in vain: the API server counts such attempts as if they had succeeded,
 * until minutes later, and would refuse what comes after them.
 */
export class ExistingObjects {
  readonly #options: ExistingObjectsOptions
  readonly #places = new Map<string, Place>()
  readonly #quotas = new Map<string, Promise<boolean>>()
  /** Namespaces where many objects of one type were there: those of other types probably are, too. */
  readonly #crowded = new Set<string>()
  #bytes = 0

  constructor(options: ExistingObjectsOptions) {
    this.#options = options
  }

  /** The object, if a list has shown it. Undefined says nothing. Throws the signal's reason. */
  async known(target: SinkTarget, signal: AbortSignal): Promise<ActionItem | undefined> {
    const place = this.#placeOf(target)
    const tryNothing =
      this.#crowded.has(target.namespace) || (await this.#isCounted(target.namespace, signal))
    if (tryNothing) place.listed ??= this.#list(target, place, signal)
    if (place.listed === undefined) return undefined
    await place.listed
    const json = place.objects.get(target.name)
    if (json === undefined) return undefined
    place.objects.delete(target.name)
    this.#bytes -= json.length
    return parseItem(json)
  }

  /** Looks for an object that could not be created. Throws KubeError, or the signal's reason. */
  async look(target: SinkTarget, signal: AbortSignal): Promise<ActionItem | undefined> {
    const { sink, listAfter = 4 } = this.#options
    const live = await sink.read(target, { signal })
    if (live === undefined) return undefined
    const place = this.#placeOf(target)
    place.met += 1
    if (place.met === listAfter) {
      this.#crowded.add(target.namespace)
      place.listed ??= this.#list(target, place, signal)
    }
    return live
  }

  /** Lets go of what was listed and not met: objects that the backup does not have. */
  forget(): void {
    this.#places.clear()
    this.#bytes = 0
  }

  #isCounted(namespace: string, signal: AbortSignal): Promise<boolean> {
    if (namespace === '') return Promise.resolve(false)
    let counted = this.#quotas.get(namespace)
    if (counted === undefined) {
      counted = this.#hasQuota(namespace, signal)
      this.#quotas.set(namespace, counted)
    }
    return counted
  }

  async #hasQuota(namespace: string, signal: AbortSignal): Promise<boolean> {
    const { sink, log } = this.#options
    try {
      for await (const _ of sink.list({ type: resourceQuotas, namespace }, { signal })) return true
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof KubeError)) throw error
      log.debug({ error, namespace }, 'It is not known whether there is a quota')
    }
    return false
  }

  async #list(target: SinkTarget, { objects }: Place, signal: AbortSignal): Promise<void> {
    const { sink, log, limit = 32 << 20 } = this.#options
    try {
      for await (const { name, json } of sink.list(target, { signal })) {
        if (this.#bytes + json.length > limit) break
        this.#bytes += json.length
        // Its bytes are part of a whole page, which would be kept along with it.
        objects.set(name, Uint8Array.from(json))
      }
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof KubeError)) throw error
      log.debug(
        { error, resource: target.type.plural, namespace: target.namespace },
        'Objects are looked for one by one',
      )
    }
  }

  #placeOf(target: SinkTarget): Place {
    const key = keyOf(target)
    let place = this.#places.get(key)
    if (place === undefined) {
      place = { met: 0, listed: undefined, objects: new Map() }
      this.#places.set(key, place)
    }
    return place
  }
}

function keyOf({ type, namespace }: SinkTarget): string {
  return `${type.group}/${type.version}/${type.plural}/${namespace}`
}
