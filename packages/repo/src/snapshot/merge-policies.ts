import { defaultPolicy, emptyPolicy, type Policy } from './policy.ts'

/**
 * How a field of several policies becomes one, the most specific policy first.
 * set: the first that is present; nonEmpty: the first that is not 0, '', false or an empty list;
 * union: all of them, up to the first policy whose field named in `stop` is true.
 */
type Rule = { kind: 'set' } | { kind: 'nonEmpty' } | { kind: 'union'; stop: string }

const set: Rule = { kind: 'set' }
const nonEmpty: Rule = { kind: 'nonEmpty' }

const rules: Partial<Record<keyof Policy, Record<string, Rule>>> = {
  retention: {
    keepLatest: set,
    keepHourly: set,
    keepDaily: set,
    keepWeekly: set,
    keepMonthly: set,
    keepAnnual: set,
    ignoreIdenticalSnapshots: set,
  },
  files: {
    ignore: nonEmpty,
    noParentIgnore: nonEmpty,
    ignoreDotFiles: nonEmpty,
    noParentDotFiles: nonEmpty,
    ignoreCacheDirs: set,
    maxFileSize: nonEmpty,
    oneFileSystem: set,
  },
  errorHandling: { ignoreFileErrors: set, ignoreDirectoryErrors: set, ignoreUnknownTypes: set },
  scheduling: {
    intervalSeconds: nonEmpty,
    timeOfDay: { kind: 'union', stop: 'noParentTimeOfDay' },
    noParentTimeOfDay: nonEmpty,
    manual: nonEmpty,
    cron: nonEmpty,
    runMissed: set,
  },
  compression: {
    compressorName: nonEmpty,
    onlyCompress: { kind: 'union', stop: 'noParentOnlyCompress' },
    noParentOnlyCompress: nonEmpty,
    neverCompress: { kind: 'union', stop: 'noParentNeverCompress' },
    noParentNeverCompress: nonEmpty,
    minSize: nonEmpty,
    maxSize: nonEmpty,
  },
  metadataCompression: { compressorName: nonEmpty },
  splitter: { algorithm: nonEmpty },
  upload: { maxParallelSnapshots: set, maxParallelFileReads: set, parallelUploadAboveSize: set },
}

/**
 * The effective policy of policies given most specific first. A policy with `noParent` is the last one, and
 * then not even the defaults apply.
 */
export function mergePolicies(policies: readonly Policy[]): Policy {
  const last = policies.findIndex(policy => policy.noParent)
  const applying = last === -1 ? [...policies, defaultPolicy()] : policies.slice(0, last + 1)
  const merged: Record<string, unknown> = { ...emptyPolicy() }
  for (const [section, fields] of Object.entries(rules)) {
    const sections = applying.map(
      policy => (policy[section as keyof Policy] ?? {}) as Record<string, unknown>,
    )
    merged[section] = mergeSection(sections, fields)
  }
  return merged as unknown as Policy
}

function mergeSection(sections: readonly Record<string, unknown>[], fields: Record<string, Rule>): object {
  const merged: Record<string, unknown> = {}
  for (const [name, rule] of Object.entries(fields)) {
    const value = mergeField(sections, name, rule)
    if (value !== undefined) merged[name] = value
  }
  return merged
}

function mergeField(sections: readonly Record<string, unknown>[], name: string, rule: Rule): unknown {
  switch (rule.kind) {
    case 'set':
      return sections.map(section => section[name]).find(value => value !== undefined && value !== null)
    case 'nonEmpty':
      return sections.map(section => section[name]).find(isNonEmpty)
    case 'union': {
      const stop = sections.findIndex(section => section[rule.stop] === true)
      const contributing = stop === -1 ? sections : sections.slice(0, stop + 1)
      return union(contributing.flatMap(section => (section[name] ?? []) as unknown[]))
    }
  }
}

function isNonEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}

function union(values: readonly unknown[]): unknown[] | undefined {
  if (values.length === 0) return undefined
  const distinct = new Map(values.map(value => [sortKey(value), value]))
  return [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
}

// Times of day sort by hour and minute, names as text.
function sortKey(value: unknown): string {
  if (typeof value === 'string') return value
  const { hour = 0, min = 0 } = value as { hour?: number; min?: number }
  return `${String(hour).padStart(2, '0')}:${String(min).padStart(2, '0')}`
}
