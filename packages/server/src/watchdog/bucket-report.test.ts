import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupStorageLocation } from '@lateen/api'
import { failedReport, newReport, oldUnclaimed, parseReport, unclaimedFindings } from './bucket-report.ts'
import { nextSurvey } from './next-survey.ts'

const HOUR = 3_600_000
const now = Date.parse('2026-01-02T00:00:00Z')
const folder = { type: 'unfinished-backup', key: 'backups/a/', keys: 2 } as const
const stray = { type: 'stray-key', key: 'backups/x y', keys: 1 } as const

function report(at: number, { before = undefined as ReturnType<typeof newReport> | undefined } = {}) {
  return newReport({ unclaimed: [folder], more: 0 }, { before, bucket: 'b', now: at, look: 'asked' })
}

describe('a report about a bucket', () => {
  it('remembers since when something is there, as long as it stays', () => {
    const first = report(now)
    const second = report(now + HOUR, { before: first })
    assert.deepEqual(second, {
      at: '2026-01-02T01:00:00Z',
      bucket: 'b',
      look: 'asked',
      unclaimed: [{ ...folder, firstSeen: '2026-01-02T00:00:00Z' }],
      more: 0,
    })
    const gone = newReport(
      { unclaimed: [], more: 0 },
      { before: second, now: now + 2 * HOUR, look: undefined, bucket: 'b' },
    )
    assert.equal(report(now + 3 * HOUR, { before: gone }).unclaimed[0]?.firstSeen, '2026-01-02T03:00:00Z')
  })

  it('takes nothing for older than the clock is', () => {
    const ahead = report(now + 1_000 * HOUR)
    assert.equal(report(now, { before: ahead }).unclaimed[0]?.firstSeen, '2026-01-02T00:00:00Z')
  })

  it('keeps what it knew when the bucket cannot be looked through', () => {
    const failed = failedReport('no such bucket', {
      before: report(now),
      now: now + HOUR,
      look: 'again',
      bucket: 'b',
    })
    assert.equal(failed.problem, 'no such bucket')
    assert.equal(failed.look, 'again')
    assert.equal(failed.unclaimed.length, 1)
    assert.deepEqual(
      failedReport('x', { before: undefined, now, look: undefined, bucket: 'b' }).unclaimed,
      [],
    )
  })

  it('has backups that are half deleted deleted by name', () => {
    const key = 'some/prefix/backups/shop/'
    const location = { metadata: { name: 'default', namespace: 'velero' }, spec: {} } as BackupStorageLocation
    const found = { type: 'half-deleted-backup', key, keys: 1, firstSeen: '2026-01-02T00:00:00Z' } as const
    const [finding] = unclaimedFindings(found, location)
    assert.equal(finding?.mend, 'lateen backup delete shop --namespace velero --confirm')
  })

  it('comes back from its text, and from nothing else', () => {
    assert.deepEqual(parseReport(JSON.stringify(report(now))), report(now))
    for (const text of [undefined, '', 'x', 'null', '[]', '{}', '{"at":1,"unclaimed":[]}']) {
      assert.equal(parseReport(text), undefined)
    }
  })

  it('tells apart what is old', () => {
    const ageMs = 24 * HOUR
    assert.deepEqual(oldUnclaimed(report(now), { now: now + ageMs - 1, ageMs }), [])
    assert.equal(oldUnclaimed(report(now), { now: now + ageMs, ageMs }).length, 1)
  })
})

describe('unclaimedFindings', () => {
  const at = (provider: string, config: Record<string, string>): BackupStorageLocation => ({
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'here' },
    spec: { provider, config, objectStorage: { bucket: 'bucket', prefix: 'p' } },
  })
  const seen = { firstSeen: '2026-01-01T00:00:00Z' }
  const mends = (location: BackupStorageLocation) =>
    [folder, stray]
      .flatMap(found => unclaimedFindings({ ...found, ...seen }, location))
      .map(({ mend }) => mend)

  it('name the command of the provider', () => {
    assert.deepEqual(mends(at('velero.io/aws', { s3Url: 'http://s3:9000' })), [
      'aws s3 rm s3://bucket/backups/a/ --recursive --endpoint-url http://s3:9000',
      "aws s3 rm 's3://bucket/backups/x y' --endpoint-url http://s3:9000",
    ])
    assert.deepEqual(mends(at('filesystem', { path: '/srv' })), [
      'rm -r /srv/bucket/backups/a/',
      "rm '/srv/bucket/backups/x y'",
    ])
    assert.match(
      mends(at('example.org/other', {}))[0] ?? '',
      /^# delete all keys that begin with backups\/a\//,
    )
  })

  it('name the snapshots that would be forgotten', () => {
    const [snapshot] = unclaimedFindings({ ...folder, ...seen, snapshots: ['east/snap-1'] }, at('aws', {}))
    assert.equal(snapshot?.type, 'snapshot')
    assert.equal(snapshot?.subject, 'Snapshot east/snap-1')
  })
})

describe('nextSurvey', () => {
  const began = now - 10 * 60_000
  it('is at once when somebody asks who was not answered', () => {
    assert.equal(nextSurvey({ before: report(now), look: 'new', began, now }), 0)
    assert.ok(nextSurvey({ before: report(now), look: 'asked', began, now }) > 0)
  })

  it('is some time after the start, then each hour, also when the clock was put back', () => {
    assert.equal(nextSurvey({ before: undefined, look: undefined, began: now, now }), 5 * 60_000)
    assert.equal(nextSurvey({ before: undefined, look: undefined, began, now }), 0)
    assert.equal(nextSurvey({ before: report(now), look: 'asked', began, now: now + HOUR }), 0)
    assert.equal(nextSurvey({ before: report(now + 99 * HOUR), look: 'asked', began, now }), HOUR)
  })
})
