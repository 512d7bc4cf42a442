const longCopy = 32

/** Appends `length` bytes that stand `offset` bytes before `at`; where the ranges overlap, the bytes repeat. */
export function copyEarlier(
  out: Uint8Array,
  at: number,
  { offset, length }: { offset: number; length: number },
): void {
  const end = at + length
  if (offset >= length && length >= longCopy) {
    out.copyWithin(at, at - offset, end - offset)
    return
  }
  for (let to = at, from = at - offset; to < end; to++, from++) out[to] = out[from] as number
}
