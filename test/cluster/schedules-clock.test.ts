import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BackupKind, ScheduleKind } from '@lateen/api'
import {
  createKubeClient,
  createManager,
  type KubeClient,
  loadKubeConfig,
  silentLogger,
  systemClock,
  withoutManagedFields,
} from '@lateen/kube'
import { LatestObjects } from '../../packages/server/src/controllers/latest-objects.ts'
import { scheduleController } from '../../packages/server/src/controllers/schedule.ts'
import { timeZone } from '../../packages/server/src/schedule/zoned-time.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { Schedules } from './schedules.ts'
import { prepareCluster } from './storage-location-harness.ts'

const given = await givenCluster()
const DAY = 86_400_000

describe('the schedule controller when the clock is set', { skip: given.skip, concurrency: false }, () => {
  const namespace = `schedules-clock-${process.pid}`
  const stop = new AbortController()
  let client: KubeClient
  let schedules: Schedules
  let running: Promise<void>
  let ahead = 0
  const clock = { ...systemClock, now: () => systemClock.now() + ahead }

  before(async () => {
    await prepareCluster(given.cluster, namespace)
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    schedules = new Schedules(client, namespace)
    const manager = createManager({ client, log: silentLogger })
    const backups = manager.informer(BackupKind, { namespace, transform: withoutManagedFields })
    const zone = timeZone('UTC')
    assert.ok(zone)
    manager.addController(
      scheduleController({
        client,
        informer: manager.informer(ScheduleKind, { namespace }),
        backups: new LatestObjects(backups),
        clock,
        skipByDefault: false,
        zone,
      }),
    )
    running = manager.run(stop.signal)
  })
  after(async () => {
    stop.abort()
    await running
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
  })

  /** Sets the clock, and lets the controller look. */
  async function setClock(milliseconds: number): Promise<void> {
    ahead = milliseconds
    await schedules.patch('nightly', { metadata: { labels: { ahead: String(milliseconds) } } })
  }

  /** Waits for so many backups, and says that all of them have ended. */
  async function ended(count: number): Promise<void> {
    const made = await schedules.made('nightly', count)
    assert.equal(made.length, count)
    for (const backup of made) await schedules.setPhase(backup, 'Completed')
  }

  const noted = (accepts: (lastBackup: number) => boolean) =>
    schedules.until('nightly', ({ status }) => !!status?.lastBackup && accepts(Date.parse(status.lastBackup)))

  it('makes one backup for a day, one for many days, and goes on when it is put back', async () => {
    // Well ahead, whatever the time of day.
    const at = new Date(systemClock.now() + 0.75 * DAY)
    await schedules.create('nightly', { schedule: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *` })
    await schedules.until('nightly', ({ status }) => status?.phase === 'Enabled')
    assert.deepEqual(await schedules.backupsOf('nightly'), [])

    await setClock(DAY)
    await ended(1)
    await noted(lastBackup => lastBackup > systemClock.now() + DAY / 2)

    await setClock(400 * DAY)
    await ended(2)
    await noted(lastBackup => lastBackup > systemClock.now() + 399 * DAY)

    await setClock(0)
    await noted(lastBackup => lastBackup < systemClock.now() + DAY / 2)
    assert.equal((await schedules.backupsOf('nightly')).length, 2)

    // The first backup was made for this very time, when the clock was wrong.
    await setClock(DAY + 1_000)
    await ended(3)
    await noted(lastBackup => lastBackup > systemClock.now() + DAY / 2)
    assert.equal((await schedules.backupsOf('nightly')).length, 3)
  })
})
