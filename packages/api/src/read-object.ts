import { apiVersionOf, type CustomObject, type KindDescription } from './kind.ts'
import { checkValue, defaultProblemLimit, type SchemaProblem } from './schema/check-value.ts'
import { withDefaults } from './schema/with-defaults.ts'

/** An object that is what its kind says, or why it is not. */
export type ReadResult<T> =
  | { readonly ok: true; readonly object: T }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] }

/**
 * Reads a value that should be an object of the kind: fills in `spec` and the schema's defaults as the API
 * server does, then checks it.
 * The given value is not changed. Fields unknown to the schema are kept.
 */
export function readObject<T extends CustomObject>(kind: KindDescription<T>, value: unknown): ReadResult<T> {
  if (!isRecord(value)) return { ok: false, problems: [{ path: '', reason: 'must be an object' }] }
  const object = {
    ...value,
    spec: withDefaults(kind.schema.spec, value.spec ?? {}),
    ...(value.status != null && { status: withDefaults(kind.schema.status, value.status) }),
  }
  const problems = [
    ...headProblems(kind, value),
    ...checkValue(kind.schema.spec, object.spec, { path: 'spec' }),
    ...('status' in object ? checkValue(kind.schema.status, object.status, { path: 'status' }) : []),
  ].slice(0, defaultProblemLimit)
  // The checks above are what makes it a T; the compiler cannot follow a schema that is data.
  return problems.length > 0 ? { ok: false, problems } : { ok: true, object: object as unknown as T }
}

function headProblems(
  kind: Pick<KindDescription, 'group' | 'version' | 'kind'>,
  value: Record<string, unknown>,
): SchemaProblem[] {
  const problems: SchemaProblem[] = []
  if (value.apiVersion !== apiVersionOf(kind)) {
    problems.push({ path: 'apiVersion', reason: `must be ${apiVersionOf(kind)}` })
  }
  if (value.kind !== kind.kind) problems.push({ path: 'kind', reason: `must be ${kind.kind}` })
  if (!isRecord(value.metadata)) problems.push({ path: 'metadata', reason: 'must be an object' })
  else problems.push(...metadataProblems(value.metadata))
  return problems
}

/** Only what readers of objects from outside rely on; the API server checks the rest. */
function metadataProblems(metadata: Record<string, unknown>): SchemaProblem[] {
  const problems: SchemaProblem[] = []
  const check = (field: string, isRight: (value: unknown) => boolean, wanted: string) => {
    const given = metadata[field]
    if (given != null && !isRight(given))
      problems.push({ path: `metadata.${field}`, reason: `must be ${wanted}` })
  }
  const isText = (given: unknown) => typeof given === 'string'
  const isTexts = (given: unknown) => isRecord(given) && Object.values(given).every(isText)
  const isRecords = (given: unknown) => Array.isArray(given) && given.every(isRecord)
  check('name', isText, 'text')
  check('labels', isTexts, 'an object of texts')
  check('annotations', isTexts, 'an object of texts')
  check('ownerReferences', isRecords, 'a list of objects')
  return problems
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
