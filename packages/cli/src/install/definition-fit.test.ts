import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BackupKind, type CustomResourceDefinition, crdFor } from '@lateen/api'
import { definitionFit, fieldsBeyond, hasValueAt } from './definition-fit.ts'
import type { StoredDefinition, StoredSchema } from './stored-definition.ts'

const ours: CustomResourceDefinition = crdFor(BackupKind)

function stored(change: (definition: StoredDefinition) => void = () => {}): StoredDefinition {
  const definition = structuredClone(ours) as unknown as StoredDefinition
  definition.status = { storedVersions: ['v1'] }
  change(definition)
  return definition
}

function specOf(definition: StoredDefinition): Record<string, StoredSchema> {
  const spec = definition.spec?.versions?.[0]?.schema?.openAPIV3Schema?.properties?.spec
  return spec?.properties ?? assert.fail('no spec')
}

describe('definitionFit', () => {
  it('replaces a definition with the same fields, or with fewer', () => {
    assert.deepEqual(definitionFit(ours, stored()), { act: 'apply' })
    const older = stored(definition => {
      delete specOf(definition).ttl
    })
    assert.deepEqual(definitionFit(ours, older), { act: 'apply' })
  })

  it('leaves a definition alone that has all our fields and more', () => {
    const newer = stored(definition => {
      specOf(definition).warpFactor = { type: 'integer' } as StoredSchema
    })
    assert.deepEqual(definitionFit(ours, newer), { act: 'leave', fields: ['spec.warpFactor'] })
  })

  it('looks at objects before it replaces one that has other fields', () => {
    const other = stored(definition => {
      delete specOf(definition).ttl
      specOf(definition).warpFactor = { type: 'integer' } as StoredSchema
    })
    assert.deepEqual(definitionFit(ours, other), { act: 'apply-unless-used', fields: ['spec.warpFactor'] })
  })

  it('refuses versions that it does not know, stored or served', () => {
    const earlier = stored(definition => {
      definition.status = { storedVersions: ['v1beta1', 'v1'] }
    })
    assert.match(JSON.stringify(definitionFit(ours, earlier)), /refuse.*version v1beta1/)
    const later = stored(definition => {
      definition.spec?.versions?.push({ name: 'v2', served: true, storage: false })
    })
    assert.match(JSON.stringify(definitionFit(ours, later)), /refuse.*version v2/)
  })

  it('refuses one that is being deleted', () => {
    const going = stored(definition => {
      definition.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
    })
    assert.equal(definitionFit(ours, going).act, 'refuse')
  })
})

describe('fieldsBeyond', () => {
  const text = { type: 'string' } as StoredSchema

  it('finds fields in lists and maps', () => {
    const more = { properties: { list: { items: { properties: { a: text, b: text } } } } }
    const less = { properties: { list: { items: { properties: { a: text } } } } }
    assert.deepEqual(fieldsBeyond(more, less), ['list[].b'])
    const map = { properties: { map: { additionalProperties: { properties: { a: text } } } } }
    assert.deepEqual(fieldsBeyond(map, { properties: { map: { additionalProperties: {} } } }), ['map.*.a'])
  })

  it('loses nothing to a schema that keeps what it does not know', () => {
    const open = { 'x-kubernetes-preserve-unknown-fields': true }
    assert.deepEqual(fieldsBeyond({ properties: { a: text } }, open), [])
  })
})

describe('hasValueAt', () => {
  it('follows fields, items and keys', () => {
    const object = { spec: { list: [{}, { b: 0 }], map: { x: { a: 'here' } } } }
    assert.equal(hasValueAt(object, 'spec.list[].b'), true)
    assert.equal(hasValueAt(object, 'spec.list[].c'), false)
    assert.equal(hasValueAt(object, 'spec.map.*.a'), true)
    assert.equal(hasValueAt({ spec: { list: null } }, 'spec.list'), false)
  })
})
