import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MoverPlace, moverAffinity } from './mover-affinity.ts'

interface Affinity {
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: object[] } }
}

function terms(place: Partial<MoverPlace>): object[] {
  const affinity = moverAffinity({ config: {}, os: 'linux', storageClass: 'fast', ...place }) as Affinity
  return affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
}

const notWindows = { key: 'kubernetes.io/os', operator: 'NotIn', values: ['windows'] }
const inZone = (zone: string) => ({ key: 'zone', operator: 'In', values: [zone] })

describe('moverAffinity', () => {
  it('keeps a mover to nodes of its system', () => {
    assert.deepEqual(terms({}), [{ matchExpressions: [notWindows] }])
    assert.deepEqual(terms({ os: 'windows' }), [{ matchExpressions: [{ ...notWindows, operator: 'In' }] }])
  })

  it('takes the choice for the storage class before the one for all', () => {
    const any = { nodeSelector: { matchLabels: { zone: 'any' } } }
    const fast = { nodeSelector: { matchLabels: { zone: 'fast' } }, storageClass: 'fast' }
    const config = { loadAffinity: [any, fast] }
    assert.deepEqual(terms({ config }), [{ matchExpressions: [inZone('fast'), notWindows] }])
    assert.deepEqual(terms({ config, storageClass: 'slow' }), [
      { matchExpressions: [inZone('any'), notWindows] },
    ])
    assert.deepEqual(terms({ config: { loadAffinity: [fast] }, storageClass: 'slow' }), [
      { matchExpressions: [notWindows] },
    ])
  })

  it('adds what is required to every place where the volume can be', () => {
    const topology = {
      nodeSelectorTerms: ['a', 'b'].map(zone => ({ matchExpressions: [inZone(zone)] })),
    }
    assert.deepEqual(
      terms({ topology }),
      ['a', 'b'].map(zone => ({ matchExpressions: [inZone(zone), notWindows] })),
    )
  })

  it('names the node where the volume will be, and those where it must not be', () => {
    assert.deepEqual(terms({ node: 'one', notOn: ['two'] }), [
      {
        matchExpressions: [notWindows, { key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['two'] }],
        matchFields: [{ key: 'metadata.name', operator: 'In', values: ['one'] }],
      },
    ])
  })
})
