import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'

/** What the runtime takes from outside, so that tests can bring their own time and chance. */
export interface RuntimePorts {
  log: Logger
  clock: Clock
  /** Uniform in [0, 1). */
  random: () => number
}
