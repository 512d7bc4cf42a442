import { type MaskedSource, maskSource } from './mask-source.ts'

/**
 * `static` runs when the importing file is loaded, `type` is erased, `dynamic` runs when it is reached: `import()`,
 * or the URL of a module that is started as a worker or a process.
 */
export type ImportKind = 'static' | 'type' | 'dynamic'

/** One import of a source file. `specifier` is undefined for an `import()` of a computed name. */
export interface Import {
  specifier: string | undefined
  kind: ImportKind
  line: number
}

interface Form {
  pattern: RegExp
  kind: ImportKind
}

// Matched on masked code: strings are empty there, and the match ends at the opening quote.
const forms: Form[] = [
  { pattern: /(?<![.\w$])import\s+type\s+(?!from\b)[\w$*{}\s,]*?\bfrom\s*(?=['"])/g, kind: 'type' },
  { pattern: /(?<![.\w$])import\s+type\s*\{[^}]*\}\s*from\s*(?=['"])/g, kind: 'type' },
  {
    pattern: /(?<![.\w$])export\s+type\s*(?:\*(?:\s*as\s+[\w$]+)?|\{[^}]*\})\s*from\s*(?=['"])/g,
    kind: 'type',
  },
  { pattern: /(?<![.\w$])import\s*(?!type\s*[\w${*])[\w$*{}\s,]*?\bfrom\s*(?=['"])/g, kind: 'static' },
  { pattern: /(?<![.\w$])import\s+type\s+from\s*(?=['"])/g, kind: 'static' },
  { pattern: /(?<![.\w$])import\s*(?=['"])/g, kind: 'static' },
  { pattern: /(?<![.\w$])export\s*(?:\*(?:\s*as\s+[\w$]+)?|\{[^}]*\})\s*from\s*(?=['"])/g, kind: 'static' },
  { pattern: /(?<![.\w$])require\s*\(\s*(?=['"`])/g, kind: 'static' },
  { pattern: /(?<![.\w$])import\s*\(\s*/g, kind: 'dynamic' },
]

const moduleUrl = /(?<![.\w$])new\s+URL\s*\(\s*(?=['"`])/g
const moduleFile = /\.[cm]?[jt]sx?$/

/**
 * Every import of a TypeScript or JavaScript source, in the order of the lines. Reads text, not a syntax tree: a type
 * query such as `typeof import('x')` counts as dynamic.
 */
export function scanImports(source: string): Import[] {
  const masked = maskSource(source)
  const found = new Map<number, Import>()
  for (const { pattern, kind } of forms) {
    for (const match of masked.code.matchAll(pattern)) {
      if (found.has(match.index)) continue
      found.set(match.index, { ...specifierAfter(masked, match), kind, line: lineOf(source, match.index) })
    }
  }
  for (const match of masked.code.matchAll(moduleUrl)) {
    const { specifier } = specifierAfter(masked, match)
    if (specifier === undefined || !moduleFile.test(specifier) || !specifier.startsWith('.')) continue
    found.set(match.index, { specifier, kind: 'dynamic', line: lineOf(source, match.index) })
  }
  return [...found.entries()].sort(([a], [b]) => a - b).map(([, found]) => found)
}

function specifierAfter(masked: MaskedSource, match: RegExpExecArray): { specifier: string | undefined } {
  const literal = masked.literals.get(match.index + match[0].length)
  if (literal === undefined) return { specifier: undefined }
  const next = masked.code.slice(literal.end).match(/\S/)?.[0]
  const continues = match[0].trimEnd().endsWith('(') && next !== ')' && next !== ','
  return { specifier: continues ? undefined : literal.value }
}

function lineOf(source: string, index: number): number {
  return source.slice(0, index).split('\n').length
}
