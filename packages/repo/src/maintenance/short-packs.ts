/** What the indexes say of one pack. */
export interface PackUse {
  id: string
  /** Contents that point into it, deleted ones included. */
  contents: number
  /** Their bytes in the pack. */
  bytes: number
}

const shortPercent = 60

/**
 * Packs so empty that their contents are worth moving: less than 60% of a full pack. The only short pack of its kind
 * stays: moving it would gain nothing.
 */
export function shortPacks(packs: Iterable<PackUse>, maxPackSize: number): PackUse[] {
  const threshold = Math.floor((maxPackSize * shortPercent) / 100)
  const byKind = new Map<string, PackUse[]>()
  for (const pack of packs) {
    if (pack.contents === 0 || pack.bytes >= threshold) continue
    const kind = pack.id.charAt(0)
    const list = byKind.get(kind)
    if (list === undefined) byKind.set(kind, [pack])
    else list.push(pack)
  }
  return [...byKind.values()].filter(list => list.length > 1).flat()
}
