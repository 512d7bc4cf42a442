import {
  type Clock,
  isForbidden,
  isGone,
  type KubeObject,
  type ResourceClient,
  unlessNotFound,
} from '@lateen/kube'

const POLL_MS = 1_000

/** What is needed to follow an object. */
export interface FollowOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * An object as it is and as it changes; undefined, and the end, once it is deleted. Watches it, or asks once a second
 * where the user may not watch. Throws the signal's reason when aborted, and KubeErrors.
 */
export async function* followObject<T extends KubeObject>(
  resource: ResourceClient<T>,
  start: T,
  { clock, signal }: FollowOptions,
): AsyncGenerator<T | undefined> {
  let seen: T | undefined = start
  while (seen !== undefined) {
    yield seen
    try {
      yield* changesOf(resource, seen, signal)
      return
    } catch (error) {
      if (!isForbidden(error) && !isGone(error)) throw error
      if (isForbidden(error)) await clock.sleep(POLL_MS, signal)
      seen = await resource.get(seen.metadata.name ?? '', { signal }).catch(unlessNotFound)
    }
  }
  yield undefined
}

async function* changesOf<T extends KubeObject>(
  resource: ResourceClient<T>,
  { metadata }: T,
  signal: AbortSignal,
): AsyncGenerator<T | undefined> {
  const { name, resourceVersion } = metadata
  const fieldSelector = `metadata.name=${name}`
  for await (const event of resource.watch({ resourceVersion, fieldSelector, signal })) {
    if (event.type === 'ADDED' || event.type === 'MODIFIED') yield event.object
    if (event.type !== 'DELETED') continue
    yield undefined
    return
  }
}
