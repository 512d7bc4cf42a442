import { KubeError } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { RestoreSink, SinkAnswer, SinkOptions, SinkTarget } from './sink.ts'

export interface CreateRequest {
  target: SinkTarget
  object: ActionItem
  options: SinkOptions
  /** Whether an object that is there can only be the one that was sent. */
  isOurs(live: ActionItem): boolean
}

/** How often an object is sent whose answers get lost. */
const attempts = 6

/**
 * Creates an object, also when the answer gets lost: it then looks whether the object is there, and sends it again if it is not.
 * Throws as `create` and `read` of the sink do.
 */
export async function createSurely(
  sink: RestoreSink,
  { target, object, options, isOurs }: CreateRequest,
): Promise<SinkAnswer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sink.create(target, object, options)
    } catch (error) {
      options.signal?.throwIfAborted()
      // Without a name there is nothing to look for.
      if (!mayBeThere(error) || target.name === '') throw error
      const live = await sink.read(target, { signal: options.signal })
      if (live !== undefined && isOurs(live)) return { object: live }
      if (live !== undefined || hasAnswered(error) || attempt >= attempts) throw error
    }
  }
}

/** The server may have created it, and did not get to say so. */
function mayBeThere(error: unknown): error is KubeError {
  return error instanceof KubeError && error.mayHaveActed
}

/** The server has said why: sending the object again would change nothing. */
function hasAnswered({ status }: KubeError): boolean {
  return status !== undefined && status >= 400 && status !== 504
}
