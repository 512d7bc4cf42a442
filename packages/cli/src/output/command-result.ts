import type { Progress } from './progress.ts'
import type { Column } from './table.ts'

export type OutputFormat = 'table' | 'json' | 'yaml' | 'name'

/** Objects to show. `json` and `yaml` print a single one as itself and several as a list of `listKind`; `name` prints a line for each. */
export interface ObjectsResult {
  readonly show: 'objects'
  readonly format: OutputFormat
  readonly listKind: { readonly apiVersion: string; readonly kind: string }
  readonly objects: readonly object[]
  /** Needed for `table` only. */
  readonly columns?: readonly Column[]
}

/**
 * Lines of text, printed as they come: an async generator reports progress and may still throw. Progress is a bar on a
 * terminal that the next one replaces, and elsewhere a line now and then.
 */
export interface LinesResult {
  readonly show: 'lines'
  readonly lines: Iterable<string> | AsyncIterable<string | Progress>
  /** Asked after the last line; absent means 0. */
  readonly exitCode?: () => number
}

/** Text that is already laid out, or bytes, printed no faster than they are taken. */
export interface TextResult {
  readonly show: 'text'
  readonly chunks: AsyncIterable<string | Uint8Array>
  /** Asked after the last chunk; absent means 0. */
  readonly exitCode?: () => number
}

/** What a command returns; `print-result.ts` turns it into text. */
export type CommandResult = ObjectsResult | LinesResult | TextResult | { readonly show: 'nothing' }
