import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BackupStorageLocation, formatTime } from '@lateen/api'
import { nextSync } from './next-sync.ts'

const now = Date.parse('2026-03-01T12:00:00Z')
const minute = 60_000

function location(spec: object, status: object): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default', namespace: 'velero' },
    spec: { provider: 'aws', objectStorage: { bucket: 'b' }, ...spec },
    status: { phase: 'Available', ...status },
  }
}

function decided(spec: object, status: object = {}, serverPeriodMs = minute) {
  return nextSync({ location: location(spec, status), now, serverPeriodMs })
}

const ago = (ms: number) => ({ lastSyncedTime: formatTime(now - ms) })

describe('when a bucket is looked at', () => {
  it('is at once when it never was', () => {
    assert.deepEqual(decided({}), { type: 'sync', periodMs: minute })
  })

  it('is a period of the server after the last time, to the millisecond', () => {
    assert.deepEqual(decided({}, ago(minute - 1_000)), { type: 'wait', afterMs: 1_000 })
    assert.deepEqual(decided({}, ago(minute)), { type: 'sync', periodMs: minute })
  })

  it('is a period of the location after the last time, where it has one', () => {
    const spec = { backupSyncPeriod: '1h' }
    assert.deepEqual(decided(spec, ago(minute)), { type: 'wait', afterMs: 59 * minute })
    assert.deepEqual(decided(spec, ago(60 * minute)), { type: 'sync', periodMs: 60 * minute })
  })

  it('is never with a period of zero, the location’s or the server’s', () => {
    assert.deepEqual(decided({ backupSyncPeriod: '0s' }), { type: 'rest' })
    assert.deepEqual(decided({}, {}, 0), { type: 'rest' })
    assert.deepEqual(decided({ backupSyncPeriod: '1m' }, {}, 0), { type: 'sync', periodMs: minute })
  })

  it('takes the server’s period for one that is negative, absent or no duration', () => {
    for (const backupSyncPeriod of ['-5m', 'often', null]) {
      assert.deepEqual(decided({ backupSyncPeriod }, ago(30_000)), { type: 'wait', afterMs: 30_000 })
    }
  })

  it('is not while the location is unavailable, not validated yet or being deleted', () => {
    assert.deepEqual(decided({}, { phase: 'Unavailable' }), { type: 'rest' })
    assert.deepEqual(decided({}, { phase: undefined }), { type: 'rest' })
    const going = location({}, {})
    going.metadata.deletionTimestamp = formatTime(now)
    assert.deepEqual(nextSync({ location: going, now, serverPeriodMs: minute }), { type: 'rest' })
  })

  it('is at once when the last time is still to come, because the clock was put back', () => {
    assert.deepEqual(decided({}, ago(-86_400_000)), { type: 'sync', periodMs: minute })
  })

  it('is at once when the clock was put forward', () => {
    assert.deepEqual(decided({}, ago(365 * 86_400_000)), { type: 'sync', periodMs: minute })
  })

  it('reads locations of read-only access like all others', () => {
    assert.deepEqual(decided({ accessMode: 'ReadOnly' }), { type: 'sync', periodMs: minute })
  })
})
