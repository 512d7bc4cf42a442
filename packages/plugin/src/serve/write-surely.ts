import { writeSync } from 'node:fs'

const WAIT_MS = 2
/** After this long, a reader that takes nothing away is taken for dead. */
const MAX_WAITS = 1000

/** Writes a text to a file descriptor, waiting where a pipe is full. What nobody takes away is dropped in the end. */
export function writeSurely(fd: number, text: string): void {
  let rest: Uint8Array = Buffer.from(text)
  for (let waits = 0; rest.length > 0 && waits < MAX_WAITS; ) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      waits += 1
      Atomics.wait(sleeper, 0, 0, WAIT_MS)
    }
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
