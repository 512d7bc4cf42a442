import type { CustomObject, KindDescription } from '@lateen/api'
import type { GatherPorts } from '../describe/fetch-file.ts'
import type { CommandResult } from '../output/command-result.ts'
import { isTerminal, type Paint, paintFor } from '../output/paint.ts'
import type { CommandCall } from '../tree/command.ts'
import type { describeFlags } from '../tree/object-flags.ts'
import { downloadPortsOf } from './download-ports-of.ts'
import { hasEnded } from './has-ended.ts'
import { findObjects, type ObjectClient, type Place } from './object-client.ts'
import { type Look, shownUntilEnd } from './shown-until-end.ts'

type Call = CommandCall<ReturnType<typeof describeFlags>>

/** How an object is to be described. */
export interface DescribeOptions {
  readonly ports: GatherPorts
  readonly paint: Paint
  readonly format: 'text' | 'json'
}

/** A kind of object with files in the object store. */
export interface Describable<T extends CustomObject<object, { phase?: string }>> {
  readonly kind: KindDescription<T>
  open(place: Place): ObjectClient<T>
  /** Where the files of an object are, if it is known. */
  locationOf(object: T, place: Place): () => Promise<string | undefined>
  describe(object: T, options: DescribeOptions): Promise<string>
}

/** How long each file is waited for. */
const FILE_TIMEOUT_MS = 30_000

/** `describe`: objects one after the other; with `--wait` again and again, until all have ended. */
export function describeObjects<T extends CustomObject<object, { phase?: string }>>(
  call: Call,
  what: Describable<T>,
): CommandResult {
  return { show: 'text', chunks: descriptions(call, what) }
}

async function* descriptions<T extends CustomObject<object, { phase?: string }>>(
  call: Call,
  what: Describable<T>,
): AsyncGenerator<string> {
  const { flags, args, surroundings } = call
  const { namespace } = await call.settings()
  const { signal, stdout, clock } = surroundings
  await using client = await call.connect()
  const place = { client, namespace, signal }
  const objects = what.open(place)
  const found = await findObjects(objects, args, flags.selector)
  const chunks = (some: readonly T[]) => described(some, { call, what, place })
  if (!flags.wait) {
    yield* chunks(found)
    return
  }
  const names = found.map(({ metadata }) => metadata.name ?? '')
  const look = async (): Promise<Look> => {
    const now = await Promise.all(names.map(name => objects.get(name)))
    const ended = now.every(({ status }) => hasEnded(what.kind, status?.phase))
    return { text: (await Array.fromAsync(chunks(now))).join(''), ended }
  }
  const between = flags.output === 'json' && names.length === 1 ? '' : '\n\n'
  yield* shownUntilEnd(look, { clock, signal, terminal: isTerminal(stdout), between })
}

async function* described<T extends CustomObject<object, { phase?: string }>>(
  found: readonly T[],
  { call, what, place }: { call: Call; what: Describable<T>; place: Place },
): AsyncGenerator<string> {
  const { flags, surroundings } = call
  const { colorized } = await call.settings()
  const format = flags.output === 'json' && found.length === 1 ? 'json' : 'text'
  const paint = paintFor(surroundings.stdout, { env: surroundings.env, colorized })
  for (const [at, object] of found.entries()) {
    const location = what.locationOf(object, place)
    const ports = await downloadPortsOf(call, { ...place, location, timeoutMs: FILE_TIMEOUT_MS })
    const text = await what.describe(object, { ports, paint, format })
    yield at === 0 ? text : `\n\n${text}`
  }
}
