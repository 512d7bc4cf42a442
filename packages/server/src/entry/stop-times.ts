/**
 * How a server comes to its end that is told to stop, in milliseconds. All of it fits into the 30 s that a pod has:
 *
 * |  at | |
 * |---|---|
 * |   0 | nothing new begins; what is under way may end by itself |
 * |   5 | it is aborted: operations of backups and restores are stopped, for 4 s at most |
 * |  10 | plugin programs that are still there are killed, so that sessions end whether or not they do |
 * |  14 | backups and restores say what became of them, for 4 s at most |
 * |  19 | who is not done is named, and the server ends with an error |
 * |  29 | the lease is given back and the last connections are cut, 5 s at most for each |
 *
 * A server that lost its lease has less: what it says would be refused.
 */
export const stopTimes = {
  /** From the signal to the abort. */
  graceMs: 5_000,
  /** From the signal to the end of all plugin programs. */
  programsMs: 10_000,
  /** From the abort to the end of all work. */
  lastWordsMs: 14_000,
} as const
