import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { builtInKind, type ObjectMeta, type Unstructured } from '@lateen/kube'
import { startLoopbackApi } from '../../../../tools/test/loopback-api.ts'
import { applyTo, fieldManager, isSameForUs } from './apply-object.ts'

const revision = 'deployment.kubernetes.io/revision'
const ours = { manager: fieldManager, operation: 'Apply', fieldsV1: { 'f:spec': {} } }
const controllers = { manager: 'kube-controller-manager', operation: 'Update', subresource: 'status' }

function deployment(metadata: ObjectMeta, more: object = {}): Unstructured {
  const fixed = { name: 'velero', namespace: 'n', uid: 'u', generation: 1, managedFields: [ours] }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...fixed, ...metadata },
    spec: { replicas: 1 },
    ...more,
  }
}

const before = deployment({ resourceVersion: '1' })
/** What its controller makes of it. */
const observed = deployment(
  { resourceVersion: '2', annotations: { [revision]: '1' }, managedFields: [ours, controllers] },
  { status: { observedGeneration: 1 } },
)

describe('applyTo', () => {
  it('says unchanged when only the controller of a Deployment has written between reading and applying', async () => {
    await using server = await startLoopbackApi(({ method }, response) => {
      response.end(JSON.stringify(method === 'GET' ? before : observed))
    })
    const stored = server.client.resource(builtInKind<Unstructured>('Deployment'), 'n')
    assert.equal(await applyTo(stored, before, new AbortController().signal), 'unchanged')
  })
})

describe('isSameForUs', () => {
  it('sees no difference in what controllers write', () => {
    assert.ok(isSameForUs(before, observed))
    assert.ok(isSameForUs(observed, deployment({ resourceVersion: '3', annotations: { [revision]: '2' } })))
  })

  it('sees no difference in the generation alone, which a status raises in kinds that have it in the object', () => {
    const validated = { status: { phase: 'Available' } }
    assert.ok(isSameForUs(before, deployment({ resourceVersion: '2', generation: 2 }, validated)))
  })

  for (const [what, after] of Object.entries({
    'the spec': deployment({ resourceVersion: '2', generation: 2 }, { spec: { replicas: 2 } }),
    'a label': deployment({ resourceVersion: '2', labels: { a: 'b' } }),
    'an annotation': deployment({ resourceVersion: '2', annotations: { a: 'b', [revision]: '1' } }),
    'a field that is new': deployment({ resourceVersion: '2' }, { data: { a: 'b' } }),
    'an object in its place': deployment({ resourceVersion: '2', uid: 'v' }),
    'fields that became ours': deployment({
      resourceVersion: '2',
      managedFields: [{ ...ours, fieldsV1: { 'f:spec': {}, 'f:data': {} } }],
    }),
  })) {
    it(`sees a difference in ${what}`, () => assert.ok(!isSameForUs(before, after)))
  }
})
