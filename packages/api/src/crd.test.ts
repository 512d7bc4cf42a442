import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allKinds } from './all-kinds.ts'
import { crdFor } from './crd.ts'
import type { OpenApiSchema } from './schema/open-api.ts'

function* nodes(schema: OpenApiSchema, path: string): Generator<{ schema: OpenApiSchema; path: string }> {
  yield { schema, path }
  for (const [name, field] of Object.entries(schema.properties ?? {})) yield* nodes(field, `${path}.${name}`)
}

describe('the CRD of each kind', () => {
  for (const kind of allKinds) {
    it(`${kind.kind} is named after plural and group and has one served and stored version`, () => {
      const crd = crdFor(kind)
      assert.equal(crd.metadata.name, `${kind.plural}.velero.io`)
      assert.deepEqual(
        crd.spec.versions.map(({ name, served, storage }) => [name, served, storage]),
        [[kind.version, true, true]],
      )
    })

    it(`${kind.kind} describes every field`, () => {
      const root = crdFor(kind).spec.versions[0]!.schema.openAPIV3Schema
      const silent = [...nodes(root, kind.kind)].filter(({ schema }) => !schema.description)
      assert.deepEqual(
        silent.map(({ path }) => path),
        [`${kind.kind}.metadata`],
      )
    })

    it(`${kind.kind} is a new object each time, without parts shared with the description`, () => {
      const first = crdFor(kind)
      const before = structuredClone(first)
      first.spec.versions[0]!.schema.openAPIV3Schema.properties!.spec!.properties = {}
      first.spec.names.shortNames?.push('x')
      assert.deepEqual(crdFor(kind), before)
    })
  }
})
