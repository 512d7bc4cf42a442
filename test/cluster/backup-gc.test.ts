import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  BackupKind,
  type BackupStatus,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  formatTime,
  ScheduleKind,
} from '@lateen/api'
import { isNotFound } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

/** Looks all the time, and leaves the requests that it makes to nobody. */
const requestsOnly = {
  garbageCollectionFrequency: 200,
  storeValidationFrequency: 300,
  disabledControllers: ['backup-deletion'],
}

describe('backups that expire', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer

  before(async () => {
    scene = await openServerScene(given.cluster, 'backup-gc')
    await createConfigMaps(scene, { count: 2, bytes: 10 })
    server = await scene.start(requestsOnly)
  })
  after(() => scene?.[Symbol.asyncDispose]())

  const past = formatTime(Date.parse('2026-01-01T00:00:00Z'))

  /** A backup that ended, without anything in the bucket. */
  async function ended(name: string, of: { status?: BackupStatus; labels?: Record<string, string> } = {}) {
    await scene.client.resource(BackupKind, scene.namespace).create({
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name, namespace: scene.namespace, labels: of.labels ?? {} },
      spec: { storageLocation: 'default' },
      status: { phase: 'Completed', expiration: past, ...of.status },
    })
  }

  async function requestsFor(backup: string): Promise<DeleteBackupRequest[]> {
    const all = await scene.client.resource(DeleteBackupRequestKind, scene.namespace).list().toArray()
    return all.filter(({ spec }) => spec.backupName === backup)
  }

  const requested = (backup: string) =>
    waitUntil(async () => ((await requestsFor(backup)).length > 0 ? true : undefined), {
      timeoutMs: 60_000,
      failure: () => new Error(`nobody requests the deletion of ${backup}`),
      everyMs: 50,
    })

  const labelled = (backup: string, value: string | undefined) =>
    scene.backups.until(backup, ({ metadata }) => metadata.labels?.['velero.io/gc-failure'] === value)

  /** Has the server look at everything at least once more. */
  async function lookedAgain(): Promise<void> {
    const name = `probe-${Math.random().toString(36).slice(2)}`
    await ended(name)
    await requested(name)
    await new Promise(resolve => setTimeout(resolve, 3 * requestsOnly.garbageCollectionFrequency))
  }

  it('are requested to be deleted when their time is over, once', async () => {
    const { status, metadata } = await scene.backups.take('short', {
      includedNamespaces: [scene.data],
      ttl: '3s',
    })
    assert.equal(status?.phase, 'Completed')
    await requested('short')
    assert.ok(Date.now() >= Date.parse(status?.expiration ?? ''))
    await lookedAgain()
    const [request, ...others] = await requestsFor('short')
    assert.deepEqual(others, [])
    assert.deepEqual(request?.metadata.labels, {
      'velero.io/backup-name': 'short',
      'velero.io/backup-uid': metadata.uid,
    })
    assert.match(request?.metadata.name ?? '', /^short-/)
  })

  it('are requested again when the last request was processed and they are still there', async () => {
    const [first] = await requestsFor('short')
    const requests = scene.client.resource(DeleteBackupRequestKind, scene.namespace)
    const body = { status: { phase: 'Processed', errors: ['no'] } }
    await requests.patch(first?.metadata.name ?? '', { type: 'merge', body })
    await waitUntil(async () => (await requestsFor('short')).length === 2 || undefined, {
      timeoutMs: 60_000,
      failure: () => new Error('there is no second request'),
    })
    await lookedAgain()
    assert.equal((await requestsFor('short')).length, 2)
  })

  it('live as long as the server says when their own time is zero', async () => {
    await scene.backups.create('never', { ttl: '0s', includedNamespaces: [scene.data] })
    const never = await scene.backups.ended('never')
    assert.equal(never.spec.ttl, '720h0m0s')
    await lookedAgain()
    assert.deepEqual(await requestsFor('never'), [])
  })

  it('are refused when their time would be over before it begins', async () => {
    const { status } = await scene.backups.take('negative', { ttl: '-1h', includedNamespaces: [scene.data] })
    assert.equal(status?.phase, 'FailedValidation')
    assert.match(status?.validationErrors?.join() ?? '', /invalid ttl "-1h"/)
  })

  it('stay while their location is read-only, unavailable or gone, with a label that says so', async () => {
    await scene.locations.patch('default', { accessMode: 'ReadOnly' })
    // Locations and backups come to the server by different watches: a backup that it sees first would expire.
    await labelled('short', 'BSLReadOnly')
    await ended('stuck')
    await labelled('stuck', 'BSLReadOnly')
    const { spec } = await scene.locations.get('default')
    await scene.locations.patch('default', { objectStorage: { bucket: 'no-such-bucket' } })
    await labelled('stuck', 'BSLUnavailable')
    await scene.locations.delete('default')
    await labelled('stuck', 'BSLNotFound')
    assert.deepEqual(await requestsFor('stuck'), [])
    await scene.locations.create('default', { ...spec, accessMode: 'ReadWrite' })
    await labelled('stuck', undefined)
    await requested('stuck')
  })

  it('stay as long as they are the last good one of a schedule that wants it kept', async () => {
    const schedules = scene.client.resource(ScheduleKind, scene.namespace)
    await schedules.create({
      apiVersion: 'velero.io/v1',
      kind: 'Schedule',
      metadata: {
        name: 'nightly',
        namespace: scene.namespace,
        annotations: { 'lateen.dev/keep-last-good': 'true' },
      },
      spec: { schedule: '0 0 1 1 *', template: {} },
    })
    // Schedules and backups come to the server by different watches, too.
    await untilSeen('that the server knows it', async () => (await schedules.get('nightly')).status?.phase)
    const labels = { 'velero.io/schedule-name': 'nightly' }
    const made = (name: string, day: number, status: BackupStatus = {}) =>
      ended(name, { labels, status: { startTimestamp: `2025-01-0${day}T00:00:00Z`, ...status } })
    await made('nightly-2', 2)
    await made('nightly-1', 1)
    await made('nightly-3', 3, { phase: 'PartiallyFailed' })
    await Promise.all([requested('nightly-1'), requested('nightly-3')])
    await lookedAgain()
    assert.deepEqual(await requestsFor('nightly-2'), [])
    const kept = server.log.filter(
      ({ msg, backup }) => /expired backup stays/.test(msg) && backup === 'nightly-2',
    )
    assert.equal(kept.length, 1)
    const events = await given.cluster.kubectl([
      ...['get', 'events', '-n', scene.namespace],
      '-o=jsonpath={range .items[?(@.reason=="BackupKept")]}{.involvedObject.name}{"\\n"}{end}',
    ])
    assert.deepEqual(events.trim().split('\n'), ['nightly-2'])

    await made('nightly-4', 4)
    await requested('nightly-2')
    await lookedAgain()
    assert.deepEqual(await requestsFor('nightly-4'), [])
    await schedules.delete('nightly')
    await requested('nightly-4')
  })

  it('are gone, from bucket and cluster, where deletions are carried out', async () => {
    await server.stop()
    server = await scene.start({ ...requestsOnly, disabledControllers: [] })
    await waitUntil(() => scene.backups.get('short').then(() => undefined, isNotFound), {
      timeoutMs: 120_000,
      failure: () => new Error('short is still there'),
    })
    assert.deepEqual(
      (await scene.bucket.keys()).filter(key => key.startsWith('backups/short/')),
      [],
    )
    assert.equal((await scene.backups.get('never')).status?.phase, 'Completed')
  })
})
