import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem } from '@lateen/plugin'
import { relatedToPod } from './pod-action.ts'
import { wasBeta } from './remap-crd-version-action.ts'

const pod = (spec: object): ActionItem => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop' },
  spec,
})

describe('the action velero.io/pod', () => {
  it('takes the claims and the priority class of a pod along', () => {
    const volumes = [
      { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'b', emptyDir: {} },
      { name: 'c', persistentVolumeClaim: { claimName: 'logs' } },
    ]
    assert.deepEqual(relatedToPod(pod({ priorityClassName: 'high', volumes })), [
      { group: 'scheduling.k8s.io', resource: 'priorityclasses', namespace: '', name: 'high' },
      { group: '', resource: 'persistentvolumeclaims', namespace: 'shop', name: 'data' },
      { group: '', resource: 'persistentvolumeclaims', namespace: 'shop', name: 'logs' },
    ])
  })

  it('takes nothing along with a pod that names nothing', () => {
    assert.deepEqual(relatedToPod(pod({})), [])
    assert.deepEqual(relatedToPod(pod({ volumes: null, priorityClassName: '' })), [])
  })
})

describe('the action velero.io/crd-remap-version', () => {
  const definition = (spec: object, conditions: object[] = []): ActionItem => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'sails.lateen.dev' },
    spec,
    status: { conditions },
  })
  const versions = [{ name: 'v1', schema: { openAPIV3Schema: { type: 'object' } } }]

  it('tells definitions that were written as v1beta1 from others', () => {
    assert.equal(wasBeta(definition({ versions })), false)
    assert.equal(wasBeta(definition({ versions: [{ name: 'v1' }] })), true)
    assert.equal(wasBeta(definition({ versions, preserveUnknownFields: true })), true)
    assert.equal(wasBeta(definition({ versions }, [{ type: 'NonStructuralSchema' }])), true)
    assert.equal(wasBeta(definition({ versions }, [{ type: 'Established' }])), false)
  })
})
