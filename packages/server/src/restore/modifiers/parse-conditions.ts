import { compileGlob, InvalidPatternError } from '../../filters/glob.ts'
import { InvalidSelectorError, type Selector, selectorOf } from '../../filters/label-selector.ts'
import { createNameFilter } from '../../filters/name-filter.ts'
import { compileGoRegexp, InvalidRegexpError } from './go-regexp.ts'
import type { LinedReader } from './lined-reader.ts'
import { readPointer, readValue } from './parse-rule-patch.ts'
import type { RuleConditions } from './resource-modifiers.ts'
import { compileResourcePattern } from './resource-pattern.ts'

const names = ['namespaces', 'groupResource', 'resourceNameRegex', 'labelSelector', 'matches'] as const

/** Reads the conditions of a rule; what is wrong with them is added to the reader's problems. */
export function parseConditions(reader: LinedReader, value: unknown, path: string): RuleConditions {
  const fields = reader.fields(value, path, names)
  const namespaces = reader.texts(fields.namespaces, `${path}.namespaces`)
  for (const [index, pattern] of namespaces.entries()) {
    compiled(reader, `${path}.namespaces[${index}]`, () => compileGlob(pattern))
  }
  const groupResource = reader.text(fields.groupResource, `${path}.groupResource`)
  if (groupResource === '') reader.problem(`${path}.groupResource`, 'groupResource cannot be empty')
  const name = reader.text(fields.resourceNameRegex, `${path}.resourceNameRegex`)
  return {
    includesNamespace: createNameFilter({ includes: namespaces }).includes,
    includesType:
      compiled(reader, `${path}.groupResource`, () => remembering(compileResourcePattern(groupResource))) ??
      never,
    includesName: compiled(reader, `${path}.resourceNameRegex`, () => compileGoRegexp(name)) ?? never,
    selector: readSelector(reader, fields.labelSelector, `${path}.labelSelector`),
    tests: readTests(reader, fields.matches, `${path}.matches`),
  }
}

const never = () => false

function compiled<T>(reader: LinedReader, path: string, compile: () => T): T | undefined {
  try {
    return compile()
  } catch (error) {
    if (
      !(
        error instanceof InvalidPatternError ||
        error instanceof InvalidRegexpError ||
        error instanceof InvalidSelectorError
      )
    ) {
      throw error
    }
    reader.problem(path, error.message)
    return undefined
  }
}

/** There are thousands of objects, and few types of them. */
function remembering(test: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>()
  return name => {
    const answer = known.get(name) ?? test(name)
    known.set(name, answer)
    return answer
  }
}

function readSelector(reader: LinedReader, value: unknown, path: string): Selector | undefined {
  if (value === undefined || value === null) return undefined
  const fields = reader.fields(value, path, ['matchLabels', 'matchExpressions'])
  const expressions = reader.items(fields.matchExpressions, `${path}.matchExpressions`)
  const selector = {
    matchLabels: reader.textMap(fields.matchLabels, `${path}.matchLabels`),
    matchExpressions: expressions.map(each => {
      const expression = reader.fields(each.item, each.path, ['key', 'operator', 'values'])
      return {
        key: reader.text(expression.key, `${each.path}.key`),
        operator: reader.text(expression.operator, `${each.path}.operator`),
        values: reader.texts(expression.values, `${each.path}.values`),
      }
    }),
  }
  return compiled(reader, path, () => selectorOf(selector))
}

function readTests(reader: LinedReader, value: unknown, path: string): RuleConditions['tests'] {
  return reader.items(value, path).flatMap(each => {
    const fields = reader.fields(each.item, each.path, ['path', 'value'])
    const pointer = readPointer(reader, fields.path, `${each.path}.path`)
    const wanted = readValue(reader, fields.value, `${each.path}.value`)
    return pointer === undefined ? [] : [{ op: 'test' as const, path: pointer, value: wanted }]
  })
}
