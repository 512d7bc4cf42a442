import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { claimAction } from './claim-action.ts'

const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'nightly', namespace: 'velero' },
  spec: {},
}

function claim(spec: object, metadata: object = {}, phase = 'Bound'): ActionItem {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop', ...metadata },
    spec: { volumeName: 'pv-1', ...spec },
    status: { phase },
  }
}

describe('the action velero.io/pv', () => {
  it('is for claims', async () => {
    assert.deepEqual(await claimAction.appliesTo(), { includedResources: ['persistentvolumeclaims'] })
  })

  it('takes the volume of a bound claim along', async () => {
    const { additionalItems, unchanged } = await claimAction.execute({ item: claim({}), backup })
    assert.deepEqual(additionalItems, [
      { group: '', resource: 'persistentvolumes', namespace: '', name: 'pv-1' },
    ])
    assert.equal(unchanged, true)
  })

  it('leaves a claim alone that is not bound or has no volume', async () => {
    const source = { dataSource: { kind: 'VolumeSnapshot', name: 'x' } }
    for (const item of [claim(source, {}, 'Pending'), claim({ ...source, volumeName: '' })]) {
      const before = structuredClone(item)
      const result = await claimAction.execute({ item, backup })
      assert.deepEqual(result, { item: before, unchanged: true })
    }
  })

  it('removes data sources, and the selector unless the claim asks for no storage class', async () => {
    const spec = { dataSource: {}, dataSourceRef: {}, selector: { matchLabels: { a: 'b' } } }
    const stored = async (storageClassName?: string) => {
      const item = claim(
        structuredClone({ ...spec, ...(storageClassName !== undefined && { storageClassName }) }),
      )
      const result = await claimAction.execute({ item, backup })
      assert.notEqual(result.unchanged, true)
      return result.item?.spec
    }
    assert.deepEqual(await stored('fast'), { volumeName: 'pv-1', storageClassName: 'fast' })
    assert.deepEqual(await stored(), { volumeName: 'pv-1' })
    assert.deepEqual(await stored(''), {
      volumeName: 'pv-1',
      storageClassName: '',
      selector: { matchLabels: { a: 'b' } },
    })
  })

  it('removes labels that earlier restores and backups left', async () => {
    const item = claim(
      { storageClassName: '', selector: { matchLabels: { 'velero.io/restore-name': 'r', a: 'b' } } },
      {
        labels: {
          'velero.io/restore-name': 'r',
          'velero.io/backup-name': 'weekly',
          'velero.io/volume-snapshot-name': 's',
          'velero.io/other': 'kept',
        },
      },
    )
    const result = await claimAction.execute({ item, backup })
    assert.deepEqual(result.item?.metadata.labels, { 'velero.io/other': 'kept' })
    assert.deepEqual((result.item.spec as { selector: object }).selector, { matchLabels: { a: 'b' } })
    const own = claim({}, { labels: { 'velero.io/backup-name': 'nightly' } })
    assert.equal((await claimAction.execute({ item: own, backup })).unchanged, true)
  })
})
