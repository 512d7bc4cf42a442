import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KubeError, type KubeErrorOptions } from '@lateen/kube'
import { explainRefusal } from './explain-refusal.ts'

const deployment = { apiVersion: 'extensions/v1beta1', kind: 'Deployment' }

function refused(code: string, said: string, options: Partial<KubeErrorOptions> = {}): KubeError {
  const message = `cannot create deployments.apps "web" in namespace "shop" at https://127.0.0.1:6443: ${said}`
  return new KubeError(code, { message, status: 403, ...options })
}

describe('A refusal', () => {
  const cases: [said: string, hint: RegExp][] = [
    ['admission webhook "policy.example.com" denied the request: no', /webhook of this cluster refuses/],
    ['Internal error occurred: failed calling webhook "x": EOF', /does not answer/],
    ['pods "a" is forbidden: exceeded quota: q, requested: pods=1', /ResourceQuota/],
    ['pods "a" is forbidden: violates PodSecurity "restricted:latest"', /pod-security/],
    [
      'roles "a" is forbidden: user "u" is attempting to grant RBAC permissions not currently held:',
      /"escalate"/,
    ],
    ['Service "a" is invalid: spec.clusterIPs[0]: Invalid value: field is immutable', /recreate/],
    ['unable to create new content in namespace shop because it is being terminated', /being deleted/],
    ['spec.ports[0].nodePort: Invalid value: 30000: provided port is already allocated', /node port/],
  ]
  for (const [said, hint] of cases) {
    it(`says what to do about: ${said.slice(0, 50)}`, () => {
      const refusal = explainRefusal(refused('Forbidden', said), deployment)
      assert.equal(refusal.said, said)
      assert.match(refusal.hint, hint)
    })
  }

  it('names the version of the API that the cluster does not have', () => {
    const error = refused('NotFound', '404 page not found', { status: 404 })
    const refusal = explainRefusal(error, deployment)
    assert.equal(refusal.said, 'the cluster does not serve Deployment in extensions/v1beta1')
    assert.match(refusal.hint, /removed/)
  })

  it('does not take an absent namespace for an absent version', () => {
    const options = { status: 404, details: { kind: 'namespaces', name: 'shop' } }
    assert.equal(
      explainRefusal(refused('NotFound', 'namespaces "shop" not found', options), deployment).said,
      'namespaces "shop" not found',
    )
  })

  it('keeps the hint of the client where it knows nothing better', () => {
    const error = refused('Invalid', 'x is invalid: a: Required value', { hint: 'correct the fields' })
    assert.deepEqual(explainRefusal(error, deployment), {
      said: 'x is invalid: a: Required value',
      hint: 'correct the fields',
    })
  })
})
