/**
 * A name as it may appear on a terminal: control characters and lone surrogates are shown escaped, never
 * obeyed.
 */
export function printable(name: string): string {
  return name.replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** A number of bytes in three or four digits: `999 B`, `1.5 KiB`, `20.0 MiB`. */
export function printBytes(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** A time as `2026-11-15 10:20:30 UTC`. */
export function printTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** A span of time in whole seconds: `5 s`, `2 min 5 s`, `3 h 0 min`. */
export function printDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}
