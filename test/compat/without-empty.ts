/** Velero's Go types write some fields even when they hold nothing. */
export function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, field]) => [key, withoutEmpty(field)] as const)
  const empty = (field: unknown) =>
    field === null || field === '0s' || (typeof field === 'object' && Object.keys(field).length === 0)
  return Object.fromEntries(entries.filter(([, field]) => !empty(field)))
}
