import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { claimBlockAction } from './claim-action.ts'
import { createClaimNeighbours } from './claim-neighbours.ts'

const claim = {
  ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { namespace: 'shop', name: 'data' } },
  ...{ spec: { volumeName: 'pv-1' }, status: { phase: 'Bound' } },
} as ActionItem

const pod = (name: string, phase: string, more: object = {}) => ({
  metadata: { name, ...more },
  spec: { nodeName: 'n', volumes: [{ persistentVolumeClaim: { claimName: 'data' } }] },
  status: { phase },
})

/** The names of the pods in the block of a claim. */
async function podsWith(spec: Backup['spec']): Promise<string[]> {
  const pods = [
    pod('runs', 'Running'),
    pod('ended', 'Succeeded'),
    pod('begins', 'Pending'),
    pod('going', 'Running', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  ]
  async function* list() {
    yield* pods
  }
  const client = { resource: () => ({ list }) } as unknown as KubeClient
  const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec }
  const related = await claimBlockAction(createClaimNeighbours(client)).getRelatedItems({
    item: claim,
    backup,
  })
  return related.filter(({ resource }) => resource === 'pods').map(({ name }) => name)
}

describe('The pods in the block of a claim', () => {
  it('were the running ones: others had the claim stored while the hooks of these were still at work', async () => {
    assert.deepEqual(await podsWith({}), ['runs', 'ended', 'begins'])
  })

  it('are the running ones where a backup selects objects, which is to have no more because of them', async () => {
    const labelSelector = { matchLabels: { app: 'db' } }
    assert.deepEqual(await podsWith({ labelSelector }), ['runs'])
    assert.deepEqual(await podsWith({ orLabelSelectors: [labelSelector] }), ['runs'])
  })
})
