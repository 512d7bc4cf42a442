const TRUE = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])
const FALSE = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False'])

/** Reads what Go's `strconv.ParseBool` reads; undefined for anything else. */
export function parseBoolean(text: string): boolean | undefined {
  if (TRUE.has(text)) return true
  return FALSE.has(text) ? false : undefined
}
