import { futimesSync, lutimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import type { GoTime } from '../go-json/go-time.ts'

const nanoseconds = 1_000_000_000n

/** Sets modification times (access times become equal). Neither call follows a symlink. Both throw system errors. */
export interface TimeSetter {
  /** False when times are rounded, because the system's `utimensat` cannot be called here. */
  readonly exact: boolean
  /** Of an open file or folder. */
  setOpen(fd: number, mtime: GoTime): void
  /** Of what the path names, itself and not what it points to. */
  setPath(path: string, mtime: GoTime): void
}

/** The exact setter where the native call can be loaded, else the rounding one. Loads once. */
export function timeSetter(): TimeSetter {
  loaded ??= loadExactSetter() ?? roundingSetter
  return loaded
}

let loaded: TimeSetter | undefined

/** Node's own calls, which take seconds as floating point: about 100 ns to 1 microsecond is lost. */
export const roundingSetter: TimeSetter = {
  exact: false,
  setOpen(fd, mtime) {
    const seconds = toSeconds(mtime)
    futimesSync(fd, seconds, seconds)
  },
  setPath(path, mtime) {
    const seconds = toSeconds(mtime)
    lutimesSync(path, seconds, seconds)
  },
}

/** Two `struct timespec`, access and modification, of a 64-bit system; seconds round down so that nanoseconds are >= 0. */
export function timespecPair(mtime: GoTime, into: BigInt64Array): BigInt64Array {
  const rest = ((mtime % nanoseconds) + nanoseconds) % nanoseconds
  const seconds = (mtime - rest) / nanoseconds
  into[0] = seconds
  into[1] = rest
  into[2] = seconds
  into[3] = rest
  return into
}

interface Native {
  futimens(fd: number, times: BigInt64Array): number
  utimensat(folder: number, path: string, ...rest: [times: BigInt64Array, flags: number]): number
  errno(): number
}

const conventions: Partial<Record<NodeJS.Platform, { currentFolder: number; noFollow: number }>> = {
  linux: { currentFolder: -100, noFollow: 0x100 },
  darwin: { currentFolder: -2, noFollow: 0x20 },
}

function loadExactSetter(): TimeSetter | undefined {
  const convention = conventions[process.platform]
  const native = convention === undefined ? undefined : loadNative()
  if (convention === undefined || native === undefined) return undefined
  const times = new BigInt64Array(4)
  const check = (result: number, call: string) => {
    if (result !== 0) throw systemError(call, native.errno())
  }
  return {
    exact: true,
    setOpen: (fd, mtime) => check(native.futimens(fd, timespecPair(mtime, times)), 'futimens'),
    setPath: (path, mtime) => {
      const pair = timespecPair(mtime, times)
      check(native.utimensat(convention.currentFolder, path, pair, convention.noFollow), 'utimensat')
    },
  }
}

function loadNative(): Native | undefined {
  const wide = ['x64', 'arm64', 'ppc64', 's390x', 'riscv64', 'loong64'].includes(process.arch)
  if (!wide) return undefined
  try {
    const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi')
    const library = koffi.load(null)
    return {
      futimens: library.func('int futimens(int fd, const void *times)') as Native['futimens'],
      utimensat: library.func(
        'int utimensat(int folder, const char *path, const void *times, int flags)',
      ) as Native['utimensat'],
      errno: () => koffi.errno(),
    }
  } catch {
    // No binary for this platform: the caller falls back to Node's calls and says so in its report.
    return undefined
  }
}

/** Node takes a negative number for the time it is now, but not its digits. */
function toSeconds(mtime: GoTime): number | string {
  const seconds = Number(mtime) / 1e9
  return seconds < 0 ? String(seconds) : seconds
}

function systemError(call: string, errno: number): Error {
  const name = Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`
  return Object.assign(new Error(`${name}: ${call}`), { code: name, errno: -errno, syscall: call })
}
