/**
 * How many characters of what plugins say are kept. Files of operations with thousands of long texts would be larger, or compress
 * better, than we accept when we read them.
 */
export const longestTexts = { error: 2048, description: 512, operationUnits: 64 } as const

/** The text, or its beginning and how many characters of it are left out. */
export function cutText(text: string, longest: number): string {
  if (text.length <= longest) return text
  const kept = text.slice(0, longest)
  // A pair of surrogates is one character.
  const whole = kept.isWellFormed() ? kept : kept.slice(0, -1)
  return `${whole.toWellFormed()}… (${text.length - whole.length} more characters)`
}
