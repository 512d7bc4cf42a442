import type { Clock } from '@lateen/kube'

/** How something looks now. */
export interface Look {
  readonly text: string
  /** Nothing will change any more. */
  readonly ended: boolean
}

export interface ShownOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Draws anew in the same place. Elsewhere texts follow each other. */
  readonly terminal: boolean
  /** What comes between two texts that follow each other. */
  readonly between: string
}

/** Files are fetched for each look. */
const LOOK_EVERY_MS = 3_000

const CLEAR_SCREEN = '\u001b[H\u001b[2J'

/** Shows something whenever it has changed, until it has ended. Throws what looking throws, and the signal's reason. */
export async function* shownUntilEnd(
  look: () => Promise<Look>,
  { clock, signal, terminal, between }: ShownOptions,
): AsyncGenerator<string> {
  let shown: string | undefined
  for (;;) {
    const { text, ended } = await look()
    if (text !== shown) yield `${terminal ? CLEAR_SCREEN : shown === undefined ? '' : between}${text}`
    shown = text
    if (ended) return
    await clock.sleep(LOOK_EVERY_MS, signal)
  }
}
