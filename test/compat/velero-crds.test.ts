import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { allKinds, crdFor } from '@lateen/api'
import { parse } from 'yaml'
import { veleroModuleDir, veleroVersion } from '../../tools/gen/velero-module.ts'

type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

interface Crd {
  metadata: { name: string }
  spec: { versions: Record<string, Json>[] } & Record<string, Json>
}

const velero = await veleroModuleDir()

/** Everything of a CRD that clients and the API server can notice. */
function noticeable(crd: Crd): Json {
  const { versions, ...spec } = crd.spec
  return {
    name: crd.metadata.name,
    spec: {
      ...spec,
      versions: versions.map(version => withoutDescriptions(withoutEmptySubresources(version))),
    },
  }
}

// controller-gen writes `subresources: {}` for kinds with printer columns; it enables none.
function withoutEmptySubresources(version: Record<string, Json>): Json {
  const { subresources, ...rest } = version
  return subresources && Object.keys(subresources).length > 0 ? version : rest
}

/** A description is text; a field that has that name is an object and stays. */
function withoutDescriptions(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutDescriptions)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([key, inner]) => key !== 'description' || typeof inner !== 'string',
  )
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutDescriptions(inner)]))
}

/** Each difference by its path, in both directions. Lists are compared in order: columns are shown in it. */
function* differences(theirs: Json | undefined, ours: Json | undefined, path: string): Generator<string> {
  if (theirs === undefined) yield `${path}: only ours: ${JSON.stringify(ours)}`
  else if (ours === undefined) yield `${path}: missing: ${JSON.stringify(theirs)}`
  else if (isContainer(theirs) && isContainer(ours) && Array.isArray(theirs) === Array.isArray(ours)) {
    const [left, right] = [new Map(Object.entries(theirs)), new Map(Object.entries(ours))]
    for (const key of new Set([...left.keys(), ...right.keys()])) {
      yield* differences(left.get(key), right.get(key), `${path}.${key}`)
    }
  } else if (theirs !== ours) yield `${path}: ${JSON.stringify(theirs)} is ${JSON.stringify(ours)} in ours`
}

function isContainer(value: Json): value is Json[] | { [key: string]: Json } {
  return typeof value === 'object' && value !== null
}

async function theirCrds(dir: string): Promise<Map<string, Crd>> {
  const crds = new Map<string, Crd>()
  for (const version of ['v1', 'v2alpha1']) {
    const bases = join(dir, 'config', 'crd', version, 'bases')
    for (const file of await readdir(bases)) {
      const crd: Crd = parse(await readFile(join(bases, file), 'utf8'))
      crds.set(crd.metadata.name, crd)
    }
  }
  return crds
}

/** Through JSON, so that what is compared is what a client sends. */
function ourCrds(): Map<string, Crd> {
  return new Map(allKinds.map(kind => [crdFor(kind).metadata.name, JSON.parse(JSON.stringify(crdFor(kind)))]))
}

describe(`the CRDs of Velero ${veleroVersion}`, { skip: velero.skip }, async () => {
  const theirs = velero.skip === false ? await theirCrds(velero.dir) : new Map<string, Crd>()
  const ours = ourCrds()

  it('are thirteen, and ours are the same thirteen', () => {
    assert.equal(theirs.size, 13)
    assert.deepEqual(new Set(ours.keys()), new Set(theirs.keys()))
  })

  for (const [name, crd] of theirs) {
    it(`${name} is ours but for the words of descriptions`, () => {
      const our = ours.get(name)
      const found = [...differences(noticeable(crd), our && noticeable(our), name)]
      assert.deepEqual(found, [])
    })
  }

  it('are compared field by field, so that a changed one is named with its path', () => {
    const crd = theirs.get('backups.velero.io')
    assert.ok(crd)
    const changed = structuredClone(crd)
    const version = changed.spec.versions[0] as {
      schema: { openAPIV3Schema: { properties: Record<string, Json> } }
    }
    const root = version.schema.openAPIV3Schema.properties as { spec: { properties: Record<string, Json> } }
    root.spec.properties.ttl = { type: 'integer', nullable: true }
    root.spec.properties.added = { type: 'string' }
    delete root.spec.properties.datamover
    const spec = 'backup.spec.versions.0.schema.openAPIV3Schema.properties.spec.properties'
    const found = new Set(differences(noticeable(crd), noticeable(changed), 'backup'))
    const expected = [
      `${spec}.added: only ours: {"type":"string"}`,
      `${spec}.datamover: missing: {"type":"string"}`,
      `${spec}.ttl.nullable: only ours: true`,
      `${spec}.ttl.type: "string" is "integer" in ours`,
    ]
    assert.deepEqual(found, new Set(expected))
  })
})
