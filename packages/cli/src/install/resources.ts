import { CliError } from '../cli-error.ts'

const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d+))?$/
const FACTORS: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** A container's `resources`. */
export interface Resources {
  requests?: Record<string, string>
  limits?: Record<string, string>
}

/** The quantities as written on the command line; `0` stands for none. */
export interface ResourceQuantities {
  readonly cpuRequest: string
  readonly memRequest: string
  readonly cpuLimit: string
  readonly memLimit: string
}

/** Checks quantities and leaves out those that are 0. Throws a CliError for nonsense or a request above its limit. */
export function resourcesOf(quantities: ResourceQuantities, whose: string): Resources {
  checkPair(`CPU of the ${whose}`, quantities.cpuRequest, quantities.cpuLimit)
  checkPair(`memory of the ${whose}`, quantities.memRequest, quantities.memLimit)
  const requests = present({ cpu: quantities.cpuRequest, memory: quantities.memRequest })
  const limits = present({ cpu: quantities.cpuLimit, memory: quantities.memLimit })
  return {
    ...(limits === undefined ? {} : { limits }),
    ...(requests === undefined ? {} : { requests }),
  }
}

function present(quantities: Record<string, string>): Record<string, string> | undefined {
  const entries = Object.entries(quantities).filter(([, text]) => amount(text) !== 0)
  return entries.length === 0
    ? undefined
    : Object.fromEntries(entries.map(([name, text]) => [name, canonical(text)]))
}

function checkPair(what: string, request: string, limit: string): void {
  for (const text of [request, limit]) {
    if (amount(text) !== undefined) continue
    throw new CliError(
      'USAGE',
      `${what} must be a quantity such as 500m or 128Mi, and ${JSON.stringify(text)} is not`,
    )
  }
  const [low = 0, high = 0] = [amount(request), amount(limit)]
  if (high !== 0 && low > high) {
    throw new CliError('USAGE', `${what}: the request ${request} is above the limit ${limit}`, {
      hint: 'lower the request or raise the limit',
    })
  }
}

function amount(text: string): number | undefined {
  const match = QUANTITY.exec(text)
  if (match === null) return undefined
  const factor = match[2] === undefined ? 10 ** Number(match[3] ?? 0) : FACTORS[match[2]]
  return Number(match[1]) * (factor ?? 1)
}

/** `1000m` is stored as `1`, as the API server prints it; other notations stay as they are. */
function canonical(text: string): string {
  const milli = /^(\d+)000m$/.exec(text)
  return milli?.[1] ?? text
}
