import { type CustomObject, cancelAnnotation, type KindDescription } from '@lateen/api'
import type { ResourceClient } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { Progress } from '../output/progress.ts'
import type { CommandCall } from '../tree/command.ts'
import type { cancelFlags } from '../tree/object-flags.ts'
import { confirm } from './confirm.ts'
import type { FollowOptions } from './follow-object.ts'
import { hasEnded } from './has-ended.ts'
import type { ObjectClient, Place } from './object-client.ts'
import { requireOneWay, selectObjects } from './select-objects.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<ReturnType<typeof cancelFlags>>

/** What has a phase that comes to an end. */
type Endable = CustomObject<object, { phase?: string; failureReason?: string }>

/** A kind of object whose work can be stopped. */
export interface Cancellable<T extends Endable> {
  readonly kind: KindDescription<T>
  readonly one: string
  readonly many: string
  open(place: Place): ObjectClient<T>
  watch(object: T, resource: ResourceClient<T>, options: FollowOptions): AsyncGenerator<Progress, T>
}

/** `cancel`: asks first, asks the server to stop each object, and reports all failures at the end. */
export function cancelObjects<T extends Endable>(call: Call, what: Cancellable<T>): CommandResult {
  requireOneWay(call, what.one)
  const late = new Set<string>()
  return { show: 'lines', lines: cancelling(call, what, late), exitCode: () => (late.size > 0 ? 1 : 0) }
}

async function* cancelling<T extends Endable>(
  call: Call,
  what: Cancellable<T>,
  late: Set<string>,
): AsyncGenerator<string | Progress> {
  const { namespace } = await call.settings()
  if (!call.flags.confirm && !(await confirm(call.surroundings))) return
  await using client = await call.connect()
  const objects = what.open({ client, namespace, signal: call.surroundings.signal })
  const failures: unknown[] = []
  const found = await find(objects, { call, what, failures })
  if (found.length === 0 && failures.length === 0) yield `No ${what.many} found that have not ended`
  const asked: string[] = []
  for (const name of found) {
    try {
      const body = { metadata: { annotations: { [cancelAnnotation]: 'true' } } }
      await objects.patch(name, { type: 'merge', body })
      asked.push(name)
      yield `Request to cancel ${what.one} "${name}" submitted successfully.`
    } catch (error) {
      failures.push(error)
    }
  }
  for (const name of asked) {
    if (call.flags.wait) yield* awaitEnd(name, objects, { call, what, late })
    else yield `Run \`lateen ${what.one} describe ${name}\` to see what became of it.`
  }
  throwFailures(failures, 'cancellations')
}

/** The names of those that have not ended. One that is named and has ended is a failure. */
async function find<T extends Endable>(
  objects: ObjectClient<T>,
  { call, what, failures }: { call: Call; what: Cancellable<T>; failures: unknown[] },
): Promise<string[]> {
  const check = (object: T) => {
    if (hasEnded(what.kind, object.status?.phase)) throw ended(object, what)
  }
  const chosen = await selectObjects(objects, call, { failures, check })
  return chosen
    .filter(({ status }) => !hasEnded(what.kind, status?.phase))
    .map(({ metadata }) => metadata.name ?? '')
}

function ended<T extends Endable>({ metadata, status }: T, { one }: Cancellable<T>): CliError {
  const hint = `'lateen ${one} describe ${metadata.name}' tells how it went`
  const message = `there is nothing to cancel: ${one} "${metadata.name}" has ended already, it is ${status?.phase}`
  return new CliError('REFUSED', message, { hint })
}

async function* awaitEnd<T extends Endable>(
  name: string,
  objects: ObjectClient<T>,
  { call, what, late }: { call: Call; what: Cancellable<T>; late: Set<string> },
): AsyncGenerator<string | Progress> {
  const { clock, signal } = call.surroundings
  const title = what.kind.kind
  try {
    const { status } = yield* what.watch(await objects.get(name), objects.resource, { clock, signal })
    const reason = status?.failureReason ? `: ${status.failureReason}` : ''
    if (status?.phase === 'Completed') {
      late.add(name)
      yield `${title} "${name}" was Completed before it could be cancelled.`
    } else yield `${title} "${name}" has ended with status ${status?.phase}${reason}.`
  } catch (error) {
    if (signal.aborted) yield `Stopped waiting. The request to cancel ${what.one} "${name}" stands.`
    signal.throwIfAborted()
    throw error
  }
}
