/** How long the host waits for programs, in milliseconds. */
export interface HostLimits {
  /** From the start of a program to the line that tells where it listens. */
  handshakeMs: number
  /** From that line to the first answer. */
  connectMs: number
  /** For calls that no plugin has reason to take long for: selectors, Init, progress, cancelling and the like. */
  shortCallMs: number
  /** While longer calls are under way, the program is asked this often whether it works. */
  healthEveryMs: number
  /** For the answer to that. */
  healthAnswerMs: number
  /** So many questions in a row without an answer, and the program is ended. */
  healthMisses: number
  /** For the answer to Shutdown, and then again for the process to end before it is killed. */
  shutdownMs: number
  /** For what a program said last, and for a killed one to be gone. */
  lastWordsMs: number
}

export const hostLimits: HostLimits = {
  handshakeMs: 60_000,
  connectMs: 20_000,
  shortCallMs: 60_000,
  healthEveryMs: 30_000,
  healthAnswerMs: 30_000,
  healthMisses: 2,
  shutdownMs: 2000,
  lastWordsMs: 2000,
}

/** After so many starts in a row that failed, a session gives a program up. */
export const MOST_FAILED_STARTS = 11
