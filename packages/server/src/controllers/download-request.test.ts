import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DownloadRequest, type DownloadRequestStatus, formatTime } from '@lateen/api'
import { bucketLayout } from '../backup-store/bucket-layout.ts'
import { fileOfTarget, nextStep } from './download-request.ts'

const now = Date.parse('2026-01-02T03:04:05Z')

const request = (status?: DownloadRequestStatus): DownloadRequest => ({
  apiVersion: 'velero.io/v1',
  kind: 'DownloadRequest',
  metadata: { name: 'x', namespace: 'velero' },
  spec: { target: { kind: 'BackupLog', name: 'nightly' } },
  ...(status && { status }),
})

describe('A download request', () => {
  it('is answered when it is new', () => {
    assert.deepEqual(nextStep(request(), now), { type: 'answer' })
    assert.deepEqual(nextStep(request({ phase: 'New' }), now), { type: 'answer' })
  })

  it('is tried again until it expires, then deleted', () => {
    const later = formatTime(now + 1000)
    assert.deepEqual(nextStep(request({ phase: 'New', expiration: later }), now), { type: 'answer' })
    assert.deepEqual(nextStep(request({ phase: 'New', expiration: later }), now + 1000), { type: 'delete' })
  })

  it('stays as long as its link is valid', () => {
    const status = { phase: 'Processed' as const, expiration: formatTime(now + 5000) }
    assert.deepEqual(nextStep(request(status), now), { type: 'wait', afterMs: 5000 })
    assert.deepEqual(nextStep(request(status), now + 5000), { type: 'delete' })
  })

  it('of Velero that was answered without an expiration does not stay for ever', () => {
    assert.deepEqual(nextStep(request({ phase: 'Processed' }), now), { type: 'delete' })
  })

  it('means the file that Velero has under that name', () => {
    const key = (kind: DownloadRequest['spec']['target']['kind']) => {
      const file = fileOfTarget({ kind, name: 'n' })
      const layout = bucketLayout('')
      return file.of === 'backup' ? layout.backupKey('n', file.file) : layout.restoreKey('n', file.file)
    }
    assert.equal(key('BackupLog'), 'backups/n/n-logs.gz')
    assert.equal(key('BackupContents'), 'backups/n/n.tar.gz')
    assert.equal(key('BackupVolumeInfos'), 'backups/n/n-volumeinfo.json.gz')
    assert.equal(key('RestoreLog'), 'restores/n/restore-n-logs.gz')
    assert.equal(key('RestoreVolumeInfo'), 'restores/n/n-volumeinfo.json.gz')
  })
})
