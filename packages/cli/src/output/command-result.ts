import type { Column } from './table.ts'

export type OutputFormat = 'table' | 'json' | 'yaml'

/** Objects to show. `json` and `yaml` print a single one as itself and several as a list of `listKind`. */
export interface ObjectsResult {
  readonly show: 'objects'
  readonly format: OutputFormat
  readonly listKind: { readonly apiVersion: string; readonly kind: string }
  readonly objects: readonly object[]
  /** Needed for `table` only. */
  readonly columns?: readonly Column[]
}

/** Lines of text, printed as they come: an async generator reports progress and may still throw. */
export interface LinesResult {
  readonly show: 'lines'
  readonly lines: Iterable<string> | AsyncIterable<string>
}

/** What a command returns; `print-result.ts` turns it into text. */
export type CommandResult = ObjectsResult | LinesResult | { readonly show: 'nothing' }
