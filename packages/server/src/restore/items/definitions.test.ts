import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isEstablished, typesOf } from './definitions.ts'

const definition = (conditions: object[]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'sails.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'sails' },
    versions: [
      { name: 'v1', served: true },
      { name: 'v1beta1', served: false },
    ],
  },
  status: { conditions },
})

describe('A definition', () => {
  const accepted = { type: 'NamesAccepted', status: 'True' }
  const established = { type: 'Established', status: 'True' }

  it('is ready when its names are accepted and it is established', () => {
    assert.ok(isEstablished(definition([accepted, established])))
    assert.ok(!isEstablished(definition([accepted])))
    assert.ok(!isEstablished(definition([accepted, { ...established, status: 'False' }])))
    assert.ok(!isEstablished({ apiVersion: 'v1', kind: 'X', metadata: {} }))
  })

  it('brings the versions that are served', () => {
    assert.deepEqual(typesOf([definition([])]), [{ group: 'example.com', version: 'v1', plural: 'sails' }])
  })
})
