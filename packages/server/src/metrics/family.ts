/** Values for every label of a family. */
export type Labels<L extends string> = Readonly<Record<L, string>>

interface Described<L extends string> {
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
}

/** Goes up, and begins at 0 with the process. */
export interface CounterFamily<L extends string = string> extends Described<L> {
  readonly type: 'counter'
}

/** Goes up and down. */
export interface GaugeFamily<L extends string = string> extends Described<L> {
  readonly type: 'gauge'
}

/** Counts values below bounds. */
export interface HistogramFamily<L extends string = string> extends Described<L> {
  readonly type: 'histogram'
  /** Ascending; the last one, infinity, goes without saying. */
  readonly buckets: readonly number[]
}

/** What a metric is: series with one name and the same labels. */
export type Family = CounterFamily | GaugeFamily | HistogramFamily

export function counter<const L extends string = never>(
  name: string,
  help: string,
  labels: readonly L[] = [],
): CounterFamily<L> {
  return { type: 'counter', name, help, labels }
}

export function gauge<const L extends string = never>(
  name: string,
  help: string,
  labels: readonly L[] = [],
): GaugeFamily<L> {
  return { type: 'gauge', name, help, labels }
}

export function histogram<const L extends string = never>({
  labels = [],
  ...described
}: {
  name: string
  help: string
  labels?: readonly L[]
  buckets: readonly number[]
}): HistogramFamily<L> {
  return { type: 'histogram', ...described, labels }
}
