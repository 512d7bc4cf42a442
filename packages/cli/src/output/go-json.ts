/** JSON as Go's encoder writes maps: keys sorted, four spaces, a line break at the end. */
export function goJson(value: unknown): string {
  return `${JSON.stringify(value, sortedKeys, 4).replace(/[\u2028\u2029]/g, char => `\\u${char.charCodeAt(0).toString(16)}`)}\n`
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
