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

interface Place {
  met: number
  listed: Promise<void> | undefined
  readonly objects: Map<string, Uint8Array>
}

/**
 * Objects of the cluster that a restore meets. Looking for each one before it is created would double the requests into an empty
 * cluster, so an object is looked for when creating it failed; where many are there already, one list finds the rest before it is
 * tried in vain.
 */
export class ExistingObjects {
  readonly #options: ExistingObjectsOptions
  readonly #places = new Map<string, Place>()
  #bytes = 0

  constructor(options: ExistingObjectsOptions) {
    this.#options = options
  }

  /** The object, if a list has shown it. Undefined says nothing. */
  async known(target: SinkTarget): Promise<ActionItem | undefined> {
    const place = this.#places.get(keyOf(target))
    if (place?.listed === undefined) return undefined
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
    if (place.met === listAfter) place.listed = this.#list(target, place, signal)
    return live
  }

  /** Lets go of what was listed and not met: objects that the backup does not have. */
  forget(): void {
    this.#places.clear()
    this.#bytes = 0
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
