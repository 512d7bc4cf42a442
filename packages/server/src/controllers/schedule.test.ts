import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Backup, BackupKind, type Schedule, ScheduleKind } from '@lateen/api'
import { type Informer, KubeError, type KubeObject, silentLogger } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import { timeZone } from '../schedule/zoned-time.ts'
import { LatestObjects } from './latest-objects.ts'
import { scheduleController } from './schedule.ts'

const { signal } = new AbortController()
const schedule: Schedule = {
  ...{ apiVersion: 'velero.io/v1', kind: 'Schedule' },
  metadata: { name: 'nightly', namespace: 'velero', uid: 's', creationTimestamp: '2026-01-01T12:00:00Z' },
  spec: { schedule: '0 3 * * *', template: {} },
  status: { phase: 'Enabled' },
}
const due = { 'velero.io/schedule-name': 'nightly' }

/** A controller whose caches see nothing of what is made, as when the API server is busy. */
async function given() {
  const now = { at: Date.parse('2026-01-02T03:00:00.500Z') }
  const clock = { now: () => now.at, sleep: async () => undefined }
  const seen: { lost: number; schedule: Schedule; isRefusing: boolean } = {
    lost: 0,
    schedule,
    isRefusing: false,
  }
  const server = await startObjectServer({ kinds: [BackupKind, ScheduleKind] })
  const { client, objects } = server
  objects.set('schedules/velero/nightly', schedule)
  const create = async (backup: Backup): Promise<Backup> => {
    const key = `backups/velero/${backup.metadata.name}`
    if (seen.isRefusing) throw new KubeError('Invalid', { message: 'bad label', status: 422 })
    if (objects.has(key)) throw new KubeError('AlreadyExists', { message: 'there already', status: 409 })
    objects.set(key, backup as KubeObject)
    if (seen.lost-- > 0) throw new KubeError('Unreachable', { message: 'cut', mayHaveActed: true })
    return backup
  }
  const backups = { ...client.resource(BackupKind, 'velero'), create }
  const resource = (kind: { kind: string }, namespace: string) =>
    kind.kind === 'Backup'
      ? { ...backups, get: (name: string) => client.resource(BackupKind, namespace).get(name, { signal }) }
      : client.resource(ScheduleKind, namespace)
  const informer = { get: () => seen.schedule, list: () => [] } as unknown as Informer<Schedule>
  const none = { get: () => undefined, list: () => [] } as unknown as Informer<Backup>
  const { reconcile } = scheduleController({
    ...{ client: { ...client, resource } as unknown as typeof client, informer, clock },
    ...{ backups: new LatestObjects(none), skipByDefault: false, zone: timeZone('UTC') ?? assert.fail() },
  })
  return {
    ...{ server, now, seen, objects },
    work: () => reconcile('velero/nightly', { signal, log: silentLogger, failures: 0 }),
    made: () => [...objects.keys()].filter(key => key.startsWith('backups/')).map(key => key.slice(15)),
    lastBackup: () => (objects.get('schedules/velero/nightly') as Schedule).status?.lastBackup,
  }
}

describe('A schedule', () => {
  it('lost its run in silence when a backup of another cluster had the name: it takes another one', async () => {
    const { server, now, objects, work, made, lastBackup } = await given()
    await using _ = server
    const theirs = { metadata: { name: 'nightly-20260102030000', namespace: 'velero', labels: due } }
    objects.set('backups/velero/nightly-20260102030000', theirs as unknown as KubeObject)
    await assert.rejects(work(), { code: 'AlreadyExists' })
    assert.equal(lastBackup(), undefined)
    now.at += 1_000
    await work()
    assert.deepEqual(made(), ['nightly-20260102030000', 'nightly-20260102030001'])
    assert.equal(lastBackup(), '2026-01-02T03:00:01Z')
  })

  it('fired twice when the answer to the first time was lost', async () => {
    const { server, now, seen, work, made, lastBackup } = await given()
    await using _ = server
    seen.lost = 1
    await assert.rejects(work(), { code: 'Unreachable' })
    now.at += 1_000
    await work()
    assert.deepEqual(made(), ['nightly-20260102030000'])
    assert.equal(lastBackup(), '2026-01-02T03:00:01Z')
  })

  it('was refused for ever for what its template had been, after that was corrected', async () => {
    const { server, seen, objects, work, made } = await given()
    await using _ = server
    seen.isRefusing = true
    await assert.rejects(work(), { code: 'Invalid' })
    seen.isRefusing = false
    seen.schedule = { ...schedule, spec: { ...schedule.spec, template: { ttl: '1h0m0s' } } }
    await work()
    assert.deepEqual(made(), ['nightly-20260102030000'])
    assert.equal((objects.get('backups/velero/nightly-20260102030000') as Backup).spec.ttl, '1h0m0s')
  })
})
