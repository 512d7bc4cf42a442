import {
  type CounterFamily,
  counter,
  type Family,
  type GaugeFamily,
  type HistogramFamily,
  type Labels,
} from './family.ts'
import { headerLines, labelText, numberText, sampleLine } from './prometheus-text.ts'

/** Series of one family that are kept. More are a fault of labels that are not bounded, and are dropped. */
const MOST_SERIES = 1_000

interface Series<L extends string> {
  /** Forgets a series. */
  remove(labels: Labels<L>): void
  /** Forgets the series that are not wanted. */
  keep(wanted: (labels: Labels<L>) => boolean): void
}

export interface Counter<L extends string = never> extends Series<L> {
  /** Adds to a series, which begins at 0; adding 0 makes it visible. Throws a RangeError for less than 0. */
  add(labels: Labels<L>, by?: number): void
}

export interface Gauge<L extends string = never> extends Series<L> {
  set(labels: Labels<L>, value: number): void
  /** Sets a series that there is not yet. */
  begin(labels: Labels<L>, value: number): void
  /** Sets a series to a value that is larger than the one it has. */
  raise(labels: Labels<L>, value: number): void
}

export interface Histogram<L extends string = never> extends Series<L> {
  observe(labels: Labels<L>, value: number): void
}

/** The metrics of a process. */
export interface MetricsRegistry {
  /** These throw when the name is taken. */
  counter<L extends string>(family: CounterFamily<L>): Counter<L>
  gauge<L extends string>(family: GaugeFamily<L>): Gauge<L>
  histogram<L extends string>(family: HistogramFamily<L>): Histogram<L>
  /** Runs before every `render`, for what is looked up and not kept. */
  beforeRender(update: () => void): void
  readonly families: readonly Family[]
  /** Everything in Prometheus' text format; families without series as their header alone. */
  render(): string
}

/** `mostSeries`: of each family. */
export function createMetricsRegistry(mostSeries: number = MOST_SERIES): MetricsRegistry {
  const stores = new Map<string, { family: Family; lines: () => string[] }>()
  const updates: (() => void)[] = []
  const dropped = counter(
    'lateen_metrics_dropped_total',
    'Updates of metrics that were dropped because their family has too many series',
    ['metric'],
  )

  function store<L extends string, V>(options: Omit<StoreOptions<L, V>, 'most' | 'drop'>): SeriesStore<L, V> {
    const { family } = options
    if (stores.has(family.name)) throw new RangeError(`the metric ${family.name} is there already`)
    const created = new SeriesStore<L, V>({
      ...options,
      most: mostSeries,
      drop: metric => droppedUpdates.add({ metric }),
    })
    stores.set(family.name, { family, lines: () => created.lines() })
    return created
  }

  const registry: MetricsRegistry = {
    counter: family => asCounter(store({ family, zero: () => ({ value: 0 }), lines: valueLines(family) })),
    gauge: family => asGauge(store({ family, zero: () => ({ value: 0 }), lines: valueLines(family) })),
    histogram: family =>
      asHistogram(family, store({ family, zero: () => emptyBuckets(family), lines: bucketLines(family) })),
    beforeRender: update => void updates.push(update),
    get families() {
      return [...stores.values()].map(({ family }) => family)
    },
    render() {
      for (const update of updates) update()
      const lines = [...stores.values()].flatMap(({ family, lines }) => [...headerLines(family), ...lines()])
      return `${lines.join('\n')}\n`
    },
  }
  const droppedUpdates: Counter<'metric'> = registry.counter(dropped)
  return registry
}

interface StoreOptions<L extends string, V> {
  family: Extract<Family, { type: string }> & { labels: readonly L[] }
  zero: () => V
  lines: (labels: string, value: V) => string[]
  most: number
  drop: (metric: string) => void
}

class SeriesStore<L extends string, V> implements Series<L> {
  readonly #options: StoreOptions<L, V>
  /** By the text of their labels. */
  readonly #series = new Map<string, { labels: Labels<L>; value: V }>()

  constructor(options: StoreOptions<L, V>) {
    this.#options = options
    if (options.family.labels.length === 0) this.of({} as Labels<L>)
  }

  has(labels: Labels<L>): boolean {
    return this.#series.has(labelText(this.#options.family.labels, labels))
  }

  /** The series, made if need be; nothing when there are too many. */
  of(labels: Labels<L>): V | undefined {
    const { family, zero, most, drop } = this.#options
    const key = labelText(family.labels, labels)
    const known = this.#series.get(key)
    if (known !== undefined) return known.value
    if (this.#series.size >= most) {
      drop(family.name)
      return undefined
    }
    const value = zero()
    this.#series.set(key, { labels: { ...labels }, value })
    return value
  }

  remove(labels: Labels<L>): void {
    this.#series.delete(labelText(this.#options.family.labels, labels))
  }

  keep(wanted: (labels: Labels<L>) => boolean): void {
    for (const [key, { labels }] of this.#series) if (!wanted(labels)) this.#series.delete(key)
  }

  lines(): string[] {
    return [...this.#series].flatMap(([labels, { value }]) => this.#options.lines(labels, value))
  }
}

interface Value {
  value: number
}

interface Buckets {
  /** How many values were at most as large as the bound of that place, and larger than the one before. */
  counts: number[]
  count: number
  sum: number
}

function asCounter<L extends string>(series: SeriesStore<L, Value>): Counter<L> {
  return {
    add(labels, by = 1) {
      if (!(by >= 0)) throw new RangeError(`a counter cannot change by ${by}`)
      const found = series.of(labels)
      if (found !== undefined) found.value += by
    },
    remove: labels => series.remove(labels),
    keep: wanted => series.keep(wanted),
  }
}

function asGauge<L extends string>(series: SeriesStore<L, Value>): Gauge<L> {
  const set = (labels: Labels<L>, value: number) => {
    const found = series.of(labels)
    if (found !== undefined) found.value = value
  }
  return {
    set,
    begin: (labels, value) => {
      if (!series.has(labels)) set(labels, value)
    },
    raise: (labels, value) => {
      const found = series.of(labels)
      if (found !== undefined) found.value = Math.max(found.value, value)
    },
    remove: labels => series.remove(labels),
    keep: wanted => series.keep(wanted),
  }
}

function asHistogram<L extends string>(
  { buckets }: HistogramFamily<L>,
  series: SeriesStore<L, Buckets>,
): Histogram<L> {
  return {
    observe(labels, value) {
      const found = series.of(labels)
      if (found === undefined) return
      const at = buckets.findIndex(bound => value <= bound)
      if (at >= 0) found.counts[at] = (found.counts[at] ?? 0) + 1
      found.count += 1
      found.sum += value
    },
    remove: labels => series.remove(labels),
    keep: wanted => series.keep(wanted),
  }
}

function emptyBuckets({ buckets }: HistogramFamily): Buckets {
  return { counts: buckets.map(() => 0), count: 0, sum: 0 }
}

function valueLines({ name }: { name: string }) {
  return (labels: string, { value }: Value) => [sampleLine(name, labels, value)]
}

function bucketLines({ name, buckets }: HistogramFamily) {
  return (labels: string, { counts, count, sum }: Buckets) => {
    const bounded = (bound: number) => `${labels}${labels === '' ? '' : ','}le="${numberText(bound)}"`
    let below = 0
    const lines = buckets.map((bound, at) => {
      below += counts[at] ?? 0
      return sampleLine(`${name}_bucket`, bounded(bound), below)
    })
    return [
      ...lines,
      sampleLine(`${name}_bucket`, bounded(Number.POSITIVE_INFINITY), count),
      sampleLine(`${name}_sum`, labels, sum),
      sampleLine(`${name}_count`, labels, count),
    ]
  }
}
