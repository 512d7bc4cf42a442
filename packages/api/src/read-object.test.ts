import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readObject } from './read-object.ts'
import { BackupKind } from './v1/backup.ts'
import { BackupStorageLocationKind } from './v1/backup-storage-location.ts'

const location = {
  apiVersion: 'velero.io/v1',
  kind: 'BackupStorageLocation',
  metadata: { name: 'default', namespace: 'velero' },
  spec: { provider: 'aws', objectStorage: { bucket: 'b' }, credential: { key: 'cloud' } },
}

describe('reading an object of a kind', () => {
  it('gives a typed object with defaults filled in', () => {
    const read = readObject(BackupStorageLocationKind, location)
    assert.ok(read.ok)
    assert.equal(read.object.spec.objectStorage.bucket, 'b')
    assert.equal(read.object.spec.credential?.name, '')
    assert.equal('name' in location.spec.credential, false)
  })

  it('refuses metadata that nobody can work with', () => {
    const wrong = {
      name: 7,
      labels: 'text',
      annotations: { a: { nested: true } },
      ownerReferences: [null],
    }
    const read = readObject(BackupKind, { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: wrong })
    assert.ok(!read.ok)
    assert.deepEqual(
      read.problems.map(({ path }) => path),
      ['metadata.name', 'metadata.labels', 'metadata.annotations', 'metadata.ownerReferences'],
    )
  })

  it('gives an empty spec to one without, which the API server accepts', () => {
    const read = readObject(BackupKind, {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'b' },
    })
    assert.ok(read.ok)
    assert.deepEqual(read.object.spec, {})
  })

  it('lets null stand for missing, as the API server does', () => {
    const read = readObject(BackupStorageLocationKind, {
      ...location,
      spec: { ...location.spec, default: null },
    })
    assert.ok(read.ok)
    assert.equal('default' in read.object.spec, false)
  })

  it('says where and why one does not match its schema', () => {
    const wrong = { ...location, kind: 'Backup', spec: { provider: 'aws' }, status: { phase: 'Fine' } }
    assert.deepEqual(readObject(BackupStorageLocationKind, wrong), {
      ok: false,
      problems: [
        { path: 'kind', reason: 'must be BackupStorageLocation' },
        { path: 'spec.objectStorage', reason: 'is missing' },
        { path: 'status.phase', reason: "'Fine' is none of Available, Unavailable" },
      ],
    })
  })

  it('refuses what is no object at all', () => {
    for (const value of [null, undefined, 'text', 3, [location]]) {
      assert.deepEqual(readObject(BackupKind, value), {
        ok: false,
        problems: [{ path: '', reason: 'must be an object' }],
      })
    }
  })
})
