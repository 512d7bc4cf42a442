import { RepoError } from '../errors/repo-error.ts'

/**
 * One line for a person: what failed, why, and what to do about it. Line breaks of the parts are flattened.
 */
export function errorLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const hint = error instanceof RepoError && error.hint !== undefined ? ` (${error.hint})` : ''
  return `lateen-repo: ${oneLine(message)}${oneLine(hint)}\n`
}

// Names come from repositories and file systems; a terminal must not obey what they hold.
function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, '; ').replace(/\p{Cc}/gu, '?')
}
