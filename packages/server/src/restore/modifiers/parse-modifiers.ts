import { LinedReader } from './lined-reader.ts'
import { parseConditions } from './parse-conditions.ts'
import { parseRulePatch } from './parse-rule-patch.ts'
import type { ModifierRule, ResourceModifiers } from './resource-modifiers.ts'
import { readYaml } from './yaml-text.ts'

/** Resource modifiers that cannot be used. */
export class InvalidModifiersError extends Error {
  override readonly name = 'InvalidModifiersError'
  readonly code = 'INVALID_MODIFIERS'
  readonly hint = 'correct the ConfigMap and create the restore again'
  /** Everything that is wrong, one by one, from the top of the text to its end. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.problems = problems
  }
}

/**
 * Reads resource modifiers: the data of their ConfigMap, which has one entry, a YAML text. Fields that are not known are
 * errors. Throws InvalidModifiersError with everything that is wrong, each with its line.
 */
export function parseModifiers(data: Readonly<Record<string, string>> | undefined): ResourceModifiers {
  const texts = Object.values(data ?? {})
  const [text] = texts
  if (text === undefined || texts.length > 1) {
    throw new InvalidModifiersError([
      `illegal resource modifiers: the ConfigMap must have one entry, not ${texts.length}`,
    ])
  }
  const yaml = readYaml(text)
  if ('problems' in yaml) {
    throw new InvalidModifiersError(
      yaml.problems.map(
        ({ line, reason }) => `line ${line}: failed to decode yaml data into resource modifiers: ${reason}`,
      ),
    )
  }
  const reader = new LinedReader(yaml)
  const modifiers = readModifiers(reader, yaml.value)
  if (reader.problems.length > 0) throw new InvalidModifiersError(reader.sorted())
  return modifiers
}

function readModifiers(reader: LinedReader, value: unknown): ResourceModifiers {
  const fields = reader.fields(value, '', ['version', 'resourceModifierRules'])
  const version = reader.text(fields.version, 'version')
  if (version.toLowerCase() !== 'v1') {
    reader.problem('version', `unsupported resource modifier version ${version} (the version is v1)`)
  }
  const rules = reader.items(fields.resourceModifierRules, 'resourceModifierRules')
  if (rules.length === 0) reader.problem('resourceModifierRules', 'resource modifier rules cannot be empty')
  return { rules: rules.map(({ item, path }) => readRule(reader, item, path)) }
}

function readRule(reader: LinedReader, value: unknown, path: string): ModifierRule {
  const names = ['conditions', 'patches', 'mergePatches', 'strategicPatches'] as const
  const { conditions, ...patches } = reader.fields(value, path, names)
  return {
    line: reader.lineOf(path),
    conditions: parseConditions(reader, conditions, `${path}.conditions`),
    patch: parseRulePatch(reader, patches, path),
  }
}
