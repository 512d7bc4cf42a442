/** A text that was painted, and may therefore hold terminal escapes. */
export interface Painted {
  readonly painted: string
}

/** Emphasis on a terminal; elsewhere the text as it is. */
export interface Paint {
  bold(text: string): Painted
  red(text: string): Painted
  green(text: string): Painted
}

/** Paints nothing. */
export const plain: Paint = { bold: unpainted, red: unpainted, green: unpainted }

/** Paints with ANSI escapes. */
export const ansi: Paint = { bold: escaped(1, 22), red: escaped(31, 0), green: escaped(32, 0) }

/** Whether a stream is a terminal on which colours are wanted. */
export function paintFor(
  stream: NodeJS.WritableStream,
  { env, colorized }: { env: Readonly<Record<string, string | undefined>>; colorized: boolean },
): Paint {
  return isTerminal(stream) && colorized && !env.NO_COLOR && env.TERM !== 'dumb' ? ansi : plain
}

export function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true
}

/** How wide a terminal is; undefined for what is none, or does not say. */
export function columnsOf(stream: NodeJS.WritableStream): number | undefined {
  return 'columns' in stream && typeof stream.columns === 'number' && stream.columns > 0
    ? stream.columns
    : undefined
}

/**
 * A template tag for text with tabs and line breaks. Values may come from objects that anybody wrote: control characters
 * in them, other than tabs and line breaks, do not reach the terminal.
 */
export function cells(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Painted)[]
): string {
  return parts.map((part, at) => part + (at < values.length ? shown(values[at] ?? '') : '')).join('')
}

function shown(value: string | number | Painted): string {
  return typeof value === 'object' ? value.painted : disarmed(String(value))
}

function unpainted(text: string): Painted {
  return { painted: disarmed(text) }
}

function escaped(on: number, off: number): (text: string) => Painted {
  return text => ({ painted: `\u001b[${on}m${disarmed(text)}\u001b[${off}m` })
}

/** A text without what a terminal would obey: control characters other than tabs and line breaks. */
export function disarmed(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach a terminal
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '?')
}
