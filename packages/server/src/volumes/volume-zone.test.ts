import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem } from '@lateen/plugin'
import { zoneOfVolume } from './volume-zone.ts'

interface Places {
  labels?: Record<string, string>
  terms?: { key: string; operator?: string; values: string[] }[][]
}

function volume({ labels, terms }: Places): ActionItem {
  const nodeSelectorTerms = terms?.map(term => ({
    matchExpressions: term.map(requirement => ({ operator: 'In', ...requirement })),
  }))
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv', ...(labels && { labels }) },
    spec: nodeSelectorTerms ? { nodeAffinity: { required: { nodeSelectorTerms } } } : {},
  }
}

describe('the zone of a volume', () => {
  const cases: [string, Places, string][] = [
    ['is empty when nothing tells', {}, ''],
    ['is that of its label', { labels: { 'topology.kubernetes.io/zone': 'a' } }, 'a'],
    [
      'is that of the newer label where it has both',
      { labels: { 'failure-domain.beta.kubernetes.io/zone': 'old', 'topology.kubernetes.io/zone': 'new' } },
      'new',
    ],
    [
      'may be that of the older label',
      { labels: { 'failure-domain.beta.kubernetes.io/zone': 'old' } },
      'old',
    ],
    [
      'is that of its label before that of its nodes',
      {
        labels: { 'topology.kubernetes.io/zone': 'label' },
        terms: [[{ key: 'topology.ebs.csi.aws.com/zone', values: ['node'] }]],
      },
      'label',
    ],
    [
      'is the first of the first requirement that names zones',
      {
        terms: [
          [{ key: 'kubernetes.io/hostname', values: ['host'] }],
          [
            { key: 'topology.disk.csi.azure.com/zone', values: [] },
            { key: 'topology.cinder.csi.openstack.org/zone', values: ['c', 'd'] },
            { key: 'topology.kubernetes.io/zone', values: ['e'] },
          ],
        ],
      },
      'c',
    ],
    [
      'does not come from requirements that exclude zones',
      { terms: [[{ key: 'topology.kubernetes.io/zone', operator: 'NotIn', values: ['a'] }]] },
      '',
    ],
    [
      'is all of them for a volume of GKE in several',
      {
        terms: [
          [{ key: 'topology.gke.io/zone', values: ['us-a'] }],
          [{ key: 'topology.gke.io/zone', values: ['us-b'] }],
        ],
      },
      'us-a__us-b',
    ],
  ]
  for (const [title, places, zone] of cases) {
    it(title, () => assert.equal(zoneOfVolume(volume(places)), zone))
  }

  it('is empty for a volume whose affinity requires nothing', () => {
    const item = { ...volume({}), spec: { nodeAffinity: { required: null } } }
    assert.equal(zoneOfVolume(item), '')
  })
})
