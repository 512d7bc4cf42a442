const suffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const

/** A number of bytes as Kubernetes writes quantities with binary suffixes: with the largest suffix that leaves an integer. */
export function binaryQuantity(bytes: number): string {
  let [value, at] = [bytes, 0]
  while (value !== 0 && value % 1024 === 0 && at < suffixes.length - 1) {
    value /= 1024
    at += 1
  }
  return `${value}${suffixes[at]}`
}
