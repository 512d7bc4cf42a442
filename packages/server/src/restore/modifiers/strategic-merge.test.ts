import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject } from './copy-json.ts'
import { patchSchemaOf } from './patch-schema.ts'
import { mergeStrategically, StrategicPatchError } from './strategic-merge.ts'

function merged(
  original: JsonObject,
  patch: JsonObject,
  type = { apiVersion: 'v1', kind: 'Pod' },
): JsonObject {
  const schema = patchSchemaOf(type)
  assert.ok(schema)
  return mergeStrategically(structuredClone(original), structuredClone(patch), schema)
}

const pod = (spec: object): JsonObject => ({ spec })
const container = (name: string, fields: object = {}) => ({ name, ...fields })

describe('mergeStrategically', () => {
  const cases: { what: string; before: object; patch: object; after: object }[] = [
    {
      what: 'merges containers by name and puts those that the patch names in its order',
      before: { containers: [container('a', { image: 'a:1', tty: true }), container('b')] },
      patch: { containers: [container('a', { image: 'a:2' })] },
      after: { containers: [container('a', { image: 'a:2', tty: true }), container('b')] },
    },
    {
      what: 'adds an element before those that were there',
      before: { containers: [container('a'), container('b')] },
      patch: { containers: [container('new')] },
      after: { containers: [container('new'), container('a'), container('b')] },
    },
    {
      what: 'deletes an element',
      before: { containers: [container('a'), container('b')] },
      patch: { containers: [container('a', { $patch: 'delete' })] },
      after: { containers: [container('b')] },
    },
    {
      what: 'replaces a list',
      before: { containers: [container('a'), container('b')] },
      patch: { containers: [{ $patch: 'replace' }, container('c')] },
      after: { containers: [container('c')] },
    },
    {
      what: 'replaces an object',
      before: { securityContext: { runAsUser: 1, fsGroup: 2 } },
      patch: { securityContext: { $patch: 'replace', fsGroup: 3 } },
      after: { securityContext: { fsGroup: 3 } },
    },
    {
      what: 'empties an object',
      before: { securityContext: { runAsUser: 1 } },
      patch: { securityContext: { $patch: 'delete' } },
      after: { securityContext: {} },
    },
    {
      what: 'replaces lists without a strategy',
      before: { tolerations: [{ key: 'a' }, { key: 'b' }] },
      patch: { tolerations: [{ key: 'c' }] },
      after: { tolerations: [{ key: 'c' }] },
    },
    {
      what: 'removes fields that are null',
      before: { nodeName: 'n', hostNetwork: true },
      patch: { nodeName: null, priority: null },
      after: { hostNetwork: true },
    },
    {
      what: 'retains the keys that are named',
      before: { volumes: [{ name: 'v', emptyDir: {} }] },
      patch: { volumes: [{ name: 'v', hostPath: { path: '/x' }, $retainKeys: ['name', 'hostPath'] }] },
      after: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] },
    },
    {
      what: 'orders a list',
      before: { containers: [container('a'), container('b'), container('c')] },
      patch: {
        '$setElementOrder/containers': [container('c'), container('a')],
        containers: [container('a', { tty: true })],
      },
      after: { containers: [container('b'), container('c'), container('a', { tty: true })] },
    },
    {
      what: 'takes a list that was not there, without what would delete elements of it',
      before: {},
      patch: { containers: [container('a', { image: null }), container('b', { $patch: 'delete' })] },
      after: { containers: [container('a')] },
    },
    {
      what: 'merges lists in elements of lists',
      before: {
        containers: [
          container('a', {
            env: [
              { name: 'X', value: '1' },
              { name: 'Y', value: '2' },
            ],
          }),
        ],
      },
      patch: { containers: [container('a', { env: [{ name: 'Y', value: '3' }] })] },
      after: {
        containers: [
          container('a', {
            env: [
              { name: 'X', value: '1' },
              { name: 'Y', value: '3' },
            ],
          }),
        ],
      },
    },
    {
      what: 'puts another type of value in the place of one',
      before: { dnsConfig: { options: [] } },
      patch: { dnsConfig: [{ a: null, b: 1 }] },
      after: { dnsConfig: [{ b: 1 }] },
    },
  ]
  for (const { what, before, patch, after } of cases) {
    it(what, () => assert.deepEqual(merged(pod(before), pod(patch)), pod(after)))
  }

  it('merges lists of plain values', () => {
    const before = { metadata: { finalizers: ['a', 'b', 'c'] } }
    const after = (patch: object) => merged(before, { metadata: patch }).metadata
    assert.deepEqual(after({ finalizers: ['d', 'b'] }), { finalizers: ['d', 'a', 'b', 'c'] })
    assert.deepEqual(after({ '$deleteFromPrimitiveList/finalizers': ['a', 'x'] }), { finalizers: ['b', 'c'] })
    assert.deepEqual(after({ '$setElementOrder/finalizers': ['c', 'b', 'a'] }), {
      finalizers: ['c', 'b', 'a'],
    })
  })

  it('replaces the selector of a PodDisruptionBudget as a whole', () => {
    const type = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' }
    const before = { spec: { selector: { matchLabels: { a: '1' } } } }
    assert.deepEqual(merged(before, { spec: { selector: { matchLabels: { b: '2' } } } }, type), {
      spec: { selector: { matchLabels: { b: '2' } } },
    })
  })

  it('merges the ports of a service by number', () => {
    const type = { apiVersion: 'v1', kind: 'Service' }
    const before = {
      spec: {
        ports: [
          { port: 80, name: 'http' },
          { port: 443, name: 'https' },
        ],
      },
    }
    assert.deepEqual(merged(before, { spec: { ports: [{ port: 443, nodePort: 30443 }] } }, type), {
      spec: {
        ports: [
          { port: 80, name: 'http' },
          { port: 443, name: 'https', nodePort: 30443 },
        ],
      },
    })
  })

  const refused: { what: string; before: object; patch: object; reason: RegExp }[] = [
    {
      what: 'elements without their key',
      before: { containers: [container('a')] },
      patch: { containers: [{ image: 'x' }] },
      reason: /lacks its merge key name/,
    },
    {
      what: 'unknown directives',
      before: { securityContext: {} },
      patch: { securityContext: { $patch: 'merge' } },
      reason: /\$patch can be delete or replace, not "merge"/,
    },
    {
      what: 'elements of different types',
      before: { containers: [container('a')] },
      patch: { containers: ['a'] },
      reason: /different types/,
    },
    {
      what: 'fields that are set and not retained',
      before: { volumes: [{ name: 'v' }] },
      patch: { volumes: [{ name: 'v', emptyDir: {}, $retainKeys: ['name'] }] },
      reason: /sets emptyDir, which \$retainKeys does not name/,
    },
    {
      what: 'an order that the patch itself does not have',
      before: { containers: [container('a')] },
      patch: { '$setElementOrder/containers': [container('a')], containers: [container('b')] },
      reason: /does not have in this order/,
    },
    {
      what: 'an order of nothing',
      before: {},
      patch: { $setElementOrder: [] },
      reason: /must be \$setElementOrder\/<list>/,
    },
  ]
  for (const { what, before, patch, reason } of refused) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => merged(pod(before), pod(patch)),
        error => error instanceof StrategicPatchError && reason.test(error.message),
      )
    })
  }
})

describe('patchSchemaOf', () => {
  it('knows kinds of Kubernetes and of Velero, and no others', () => {
    assert.ok(patchSchemaOf({ apiVersion: 'apps/v1', kind: 'Deployment' }))
    assert.ok(patchSchemaOf({ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' }))
    assert.equal(patchSchemaOf({ apiVersion: 'apps/v1', kind: 'Pod' }), undefined)
    assert.equal(patchSchemaOf({ apiVersion: 'lateen.dev/v1', kind: 'Sail' }), undefined)
    assert.equal(patchSchemaOf({ apiVersion: 'constructor', kind: 'name' }), undefined)
  })

  it('follows types into each other', () => {
    const template = patchSchemaOf({ apiVersion: 'batch/v1', kind: 'CronJob' })
      ?.field('spec')
      .schema.field('jobTemplate')
      .schema.field('spec')
      .schema.field('template').schema
    assert.equal(template?.field('spec').schema.field('containers').mergeKey, 'name')
    assert.equal(template?.field('metadata').schema.field('ownerReferences').mergeKey, 'uid')
  })
})
