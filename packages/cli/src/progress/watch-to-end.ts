import type { KubeObject, ResourceClient } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { eachSecondUntil } from '../commands/each-second.ts'
import { type FollowOptions, followObject } from '../commands/follow-object.ts'
import type { Progress } from '../output/progress.ts'
import { type Counts, ProgressTracker } from './progress-tracker.ts'

/** How objects of a kind are waited for. */
export interface WatchToEndOptions<T extends KubeObject> extends FollowOptions {
  /** What one of them is called. */
  readonly one: string
  readonly hasEnded: (object: T) => boolean
  /** What has been done, and what there is to do. */
  readonly counts: (object: T) => Counts
}

/**
 * Reports progress until the work of an object has ended, and returns the object as it is then. Throws a CliError
 * (`NOT_FOUND`) when it is deleted meanwhile, the signal's reason when aborted, and KubeErrors.
 */
export async function* watchToEnd<T extends KubeObject>(
  created: T,
  resource: ResourceClient<T>,
  options: WatchToEndOptions<T>,
): AsyncGenerator<Progress, T> {
  const { clock, one, hasEnded, counts } = options
  const tracker = new ProgressTracker(clock.now())
  let latest = created
  const end = (async () => {
    for await (const seen of followObject(resource, created, options)) {
      if (seen === undefined) break
      latest = seen
      if (hasEnded(seen)) return seen
    }
    throw new CliError('NOT_FOUND', `${one} "${created.metadata.name}" was deleted while it was waited for`)
  })()
  const ticks = eachSecondUntil(end, clock)
  for (;;) {
    const tick = await ticks.next()
    if (tick.done) return tick.value
    yield tracker.seen(counts(latest), clock.now())
  }
}
