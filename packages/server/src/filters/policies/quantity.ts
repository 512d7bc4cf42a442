/** A Kubernetes quantity in billionths, which is as fine as Kubernetes counts. */
export type Quantity = bigint & { readonly kind: 'Quantity' }

const form = /^([+-]?)(\d*)(?:\.(\d*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,3})$/
const billionths = 9
const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const binaryExponents: Readonly<Record<string, bigint>> = {
  Ki: 10n,
  Mi: 20n,
  Gi: 30n,
  Ti: 40n,
  Pi: 50n,
  Ei: 60n,
}

/** The quantity that a text such as `10Gi`, `1.5G` or `1e9` stands for, rounded up; undefined when it is none. */
export function parseQuantity(text: string): Quantity | undefined {
  const [, sign, whole, fraction = '', suffix] = form.exec(text) ?? []
  if (sign === undefined || whole === undefined || suffix === undefined) return undefined
  if (whole + fraction === '') return undefined
  const digits = BigInt(whole + fraction)
  const binary = binaryExponents[suffix]
  const decimal = binary === undefined ? (decimalExponents[suffix] ?? Number(suffix.slice(1))) : 0
  const scaled = shifted(digits << (binary ?? 0n), billionths + decimal - fraction.length)
  return (sign === '-' ? -scaled : scaled) as Quantity
}

function shifted(value: bigint, places: number): bigint {
  if (places >= 0) return value * 10n ** BigInt(places)
  const divisor = 10n ** BigInt(-places)
  return (value + divisor - 1n) / divisor
}
