import { patchFields, patchKinds } from './patch-strategies.ts'

/** How strategic merge patches treat the fields of a type. */
export interface PatchSchema {
  field(name: string): FieldSchema
}

/** How strategic merge patches treat a field. */
export interface FieldSchema {
  /** Lists are merged instead of replaced, objects replaced instead of merged. */
  readonly strategy: 'merge' | 'replace' | undefined
  /** Tells the elements of a merged list apart; empty where they are plain values. */
  readonly mergeKey: string
  /** Of the object, or of the elements of the list. */
  readonly schema: PatchSchema
}

const plain: PatchSchema = { field: () => plainField }
const plainField: FieldSchema = { strategy: undefined, mergeKey: '', schema: plain }
const metadataOnly: PatchSchema = {
  field: name =>
    name === 'metadata' ? { ...plainField, schema: schemaOf('meta.v1.ObjectMeta') } : plainField,
}

// Velero has these as types of its own, without strategies, and so can patch them.
const knownGroups = new Set(['velero.io', 'snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io'])

const schemas = new Map<string, PatchSchema>()

/** The schema of a kind that comes with Kubernetes or Velero; undefined for others, which have none. */
export function patchSchemaOf({
  apiVersion,
  kind,
}: {
  apiVersion: string
  kind: string
}): PatchSchema | undefined {
  const types = Object.hasOwn(patchKinds, apiVersion) ? patchKinds[apiVersion] : undefined
  if (types !== undefined) return types.kinds.includes(kind) ? schemaOf(`${types.types}.${kind}`) : undefined
  return knownGroups.has(apiVersion.slice(0, apiVersion.indexOf('/'))) ? metadataOnly : undefined
}

function schemaOf(type: string): PatchSchema {
  const known = schemas.get(type)
  if (known !== undefined) return known
  const text = Object.hasOwn(patchFields, type) ? patchFields[type] : undefined
  const schema = text === undefined ? plain : parseFields(text)
  schemas.set(type, schema)
  return schema
}

/** Fields as the generated table has them: `volumes[name]:core.v1.Volume`, `finalizers[]`, `selector!`, `spec:core.v1.PodSpec`. */
function parseFields(text: string): PatchSchema {
  const fields = new Map<string, { mergeKey: string | undefined; replace: boolean; type: string }>()
  for (const each of text.split(' ')) {
    const [, name = '', mergeKey, mark, type = ''] =
      /^([^[:!]+)(?:\[(\w*)\])?(!)?(?::(.+))?$/.exec(each) ?? []
    fields.set(name, { mergeKey, replace: mark !== undefined, type })
  }
  return {
    field(name) {
      const field = fields.get(name)
      if (field === undefined) return plainField
      const { mergeKey, replace, type } = field
      const strategy = replace ? 'replace' : mergeKey === undefined ? undefined : 'merge'
      return { strategy, mergeKey: mergeKey ?? '', schema: type === '' ? plain : schemaOf(type) }
    },
  }
}
