import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KubeError } from '@lateen/kube'
import { excuseRefusal } from './excuse-refusal.ts'

const nothing = { has: () => false }

function refusal(message: string): KubeError {
  return new KubeError('Forbidden', { status: 403, message })
}

describe('excuseRefusal', () => {
  const noAccount = refusal(
    'pods "web" is forbidden: error looking up service account shop/sailor: serviceaccount "sailor" not found',
  )

  it('excuses a pod whose service account is planned', () => {
    const planned = {
      has: (resource: string, { namespace, name }: { namespace: string; name: string }) =>
        `${resource} ${namespace} ${name}` === 'serviceaccounts shop sailor',
    }
    assert.equal(excuseRefusal(noAccount, 'shop', planned), 'service account sailor absent')
    assert.equal(excuseRefusal(noAccount, 'other', planned), undefined)
  })

  it('excuses nothing that the restore does not create', () => {
    assert.equal(excuseRefusal(noAccount, 'shop', nothing), undefined)
    assert.equal(excuseRefusal(refusal('exceeded quota: few'), 'shop', { has: () => true }), undefined)
  })

  it('excuses those who have no right, which the server has', () => {
    const error = refusal(
      'cannot create configmaps: configmaps is forbidden: User "jo" cannot create resource "configmaps" in API group "" in the namespace "shop"',
    )
    assert.equal(excuseRefusal(error, 'shop', nothing), 'no right to create')
  })

  it('excuses webhooks that take no dry runs', () => {
    const error = refusal('admission webhook "gate.example.com" does not support dry run')
    assert.equal(
      excuseRefusal(error, 'shop', nothing),
      'the admission webhook gate.example.com does not support it',
    )
  })
})
