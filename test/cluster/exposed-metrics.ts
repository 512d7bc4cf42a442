import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** A family as a server shows it. */
export interface ExposedFamily {
  type: string
  help: string
  /** Values by what stands before them, such as `name{label="value"}`. */
  samples: Map<string, number>
}

/** Reads Prometheus' text format. Throws for a line that is not of it, and for a sample without a family. */
export function parseMetrics(text: string): Map<string, ExposedFamily> {
  const families = new Map<string, ExposedFamily>()
  const familyOf = (name: string) => {
    const known = families.get(name) ?? { type: '', help: '', samples: new Map<string, number>() }
    families.set(name, known)
    return known
  }
  for (const line of text.split('\n')) {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (keyword === 'HELP') familyOf(name).help = rest
    else if (keyword === 'TYPE') familyOf(name).type = rest
    else if (line !== '') addSample(line, families)
  }
  return families
}

function addSample(line: string, families: Map<string, ExposedFamily>): void {
  const [, name = '', labels = '', value = ''] = /^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)$/.exec(line) ?? []
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
  if (family === undefined) throw new Error(`not a sample of any family: ${line}`)
  family.samples.set(name + sortedLabels(labels), value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value))
}

/** Their order says nothing. */
function sortedLabels(labels: string): string {
  const pairs = labels.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? []
  return pairs.length === 0 ? '' : `{${pairs.toSorted().join()}}`
}

/** The names of the labels of a sample. */
export function labelNamesOf(sample: string): string[] {
  return [...sample.matchAll(/(\w+)="/g)].map(([, name = '']) => name)
}

/** What a server shows at `/metrics` now. */
export async function readMetrics(url: string): Promise<Map<string, ExposedFamily>> {
  const response = await fetch(`${url}/metrics`)
  if (!response.ok) throw new Error(`${url}/metrics answers ${response.status}`)
  return parseMetrics(await response.text())
}

/** Waits until what is shown is as the check wants it: objects are seen a moment after they have changed. */
export async function metricsUntil(
  url: string,
  accepts: (value: (sample: string) => number | undefined) => boolean,
): Promise<Map<string, ExposedFamily>> {
  let last = new Map<string, ExposedFamily>()
  const value = (sample: string) => valueIn(last, sample)
  return waitUntil(
    async () => {
      last = await readMetrics(url)
      return accepts(value) ? last : undefined
    },
    {
      timeoutMs: 120_000,
      everyMs: 100,
      failure: () => new Error(`never shown; last: ${describe(last)}`),
    },
  )
}

/** The value of a sample, written with its labels in the order of the alphabet. */
export function valueIn(families: Map<string, ExposedFamily>, sample: string): number | undefined {
  for (const { samples } of families.values()) if (samples.has(sample)) return samples.get(sample)
  return undefined
}

function describe(families: Map<string, ExposedFamily>): string {
  const lines = [...families.values()].flatMap(({ samples }) => [...samples].map(pair => pair.join(' ')))
  return lines.filter(line => /^(velero|lateen)_/.test(line)).join('\n')
}
