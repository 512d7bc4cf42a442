import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BackupKind, type BackupStorageLocation, DataUploadKind, RestoreKind } from '@lateen/api'
import { describeKinds, needsDefault } from './start-up-checks.ts'

function location(name: string, isDefault?: boolean): BackupStorageLocation {
  const spec = {
    provider: 'aws',
    objectStorage: { bucket: 'b' },
    ...(isDefault !== undefined && { default: isDefault }),
  }
  return { apiVersion: 'velero.io/v1', kind: 'BackupStorageLocation', metadata: { name }, spec }
}

describe('needsDefault', () => {
  it('holds when the location exists and none is the default', () => {
    assert.equal(needsDefault([location('default'), location('b', false)], 'default'), true)
  })

  it('does not hold when a user has chosen, or when there is no such location', () => {
    assert.equal(needsDefault([location('default'), location('b', true)], 'default'), false)
    assert.equal(needsDefault([location('b')], 'default'), false)
    assert.equal(needsDefault([], 'default'), false)
  })

  it('bears a location without a spec', () => {
    const bare = { metadata: { name: 'x' } } as BackupStorageLocation
    assert.equal(needsDefault([bare, location('default')], 'default'), true)
  })
})

describe('describeKinds', () => {
  it('names kinds by API version', () => {
    const text = describeKinds([BackupKind, RestoreKind, DataUploadKind])
    assert.equal(text, 'Backup, Restore of velero.io/v1 and DataUpload of velero.io/v2alpha1')
  })
})
