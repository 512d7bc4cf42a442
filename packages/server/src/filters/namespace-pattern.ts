import { compileGlob, InvalidPatternError } from './glob.ts'

/**
 * Why a text cannot name namespaces; undefined when it can. Of the syntax of patterns, namespaces allow `*`, `?` and brackets.
 */
export function namespacePatternProblem(pattern: string): string | undefined {
  if (/[|()!{},]/.test(pattern)) {
    return 'wildcard pattern contains unsupported characters: |, (, ), !, {, }, ,'
  }
  if (pattern.includes('**')) {
    return 'wildcard pattern contains consecutive asterisks (only single * allowed)'
  }
  return bracketProblem(pattern) ?? globProblem(pattern)
}

function bracketProblem(pattern: string): string | undefined {
  for (let rest = pattern; rest !== ''; ) {
    const open = rest.indexOf('[')
    const close = rest.indexOf(']')
    if (open < 0 && close < 0) return undefined
    if (open < 0 || (close >= 0 && close < open))
      return "wildcard pattern contains unmatched closing bracket ']'"
    if (close < 0) return "wildcard pattern contains unclosed bracket '['"
    if (close === open + 1) return "wildcard pattern contains empty bracket pattern '[]'"
    rest = rest.slice(close + 1)
  }
  return undefined
}

function globProblem(pattern: string): string | undefined {
  try {
    compileGlob(pattern)
    return undefined
  } catch (error) {
    if (error instanceof InvalidPatternError) return error.reason
    throw error
  }
}
