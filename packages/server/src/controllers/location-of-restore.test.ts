import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupStorageLocation, Restore } from '@lateen/api'
import { notedLocation, withNotedLocation } from './location-of-restore.ts'

const location: BackupStorageLocation = {
  apiVersion: 'velero.io/v1',
  kind: 'BackupStorageLocation',
  metadata: { name: 'far' },
  spec: { provider: 'aws', objectStorage: { bucket: 'b' } },
}

function restore(annotations?: Record<string, string>): Restore {
  const metadata = { name: 'r', ...(annotations && { annotations }) }
  return { apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec: { backupName: 'b' } }
}

describe('The location of a restore', () => {
  it('is noted on it beside what is there, and takes the place of one that was copied', () => {
    const { metadata } = withNotedLocation(
      restore({ mine: 'x', 'lateen.dev/storage-location': 'old' }),
      location,
    )
    assert.deepEqual(metadata.annotations, { mine: 'x', 'lateen.dev/storage-location': 'far' })
    assert.equal(notedLocation({ ...restore(), metadata }), 'far')
  })

  it('is not known of one that began without', () => {
    assert.equal(notedLocation(restore()), undefined)
    assert.equal(notedLocation(restore({ 'lateen.dev/storage-location': '' })), undefined)
    assert.deepEqual(withNotedLocation(restore(), undefined), restore())
  })
})
