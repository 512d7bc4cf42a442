import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { notEstablished } from './apply-definitions.ts'

function definition(...conditions: { type: string; status: string; message?: string }[]) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {},
    status: { conditions },
  }
}

describe('notEstablished', () => {
  it('is satisfied when names are accepted and the definition is in force', () => {
    const accepted = { type: 'NamesAccepted', status: 'True' }
    assert.equal(notEstablished(definition(accepted, { type: 'Established', status: 'True' })), undefined)
    assert.match(notEstablished(definition(accepted)) ?? '', /not Established/)
  })

  it('gives the reason of the API server', () => {
    const rejected = { type: 'NamesAccepted', status: 'False', message: '"bsl" is already in use' }
    assert.equal(notEstablished(definition(rejected)), '"bsl" is already in use')
  })

  it('is not satisfied by a definition without status', () => {
    assert.match(notEstablished({ apiVersion: '', kind: '', metadata: {} }) ?? '', /not NamesAccepted/)
  })
})
