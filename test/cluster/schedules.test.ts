import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { Schedules } from './schedules.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

/** Nobody takes the backups that schedules make: they stay as the tests want them. */
const alone = { disabledControllers: ['backup', 'backup-queue', 'backup-finalizer', 'backup-operations'] }

const dueOf = ({ metadata }: Backup) => metadata.annotations?.['lateen.dev/due'] ?? ''

describe('the schedule controller', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let schedules: Schedules
  let server: RunningServer

  before(async () => {
    scene = await openServerScene(given.cluster, 'schedules')
    schedules = new Schedules(scene.client, scene.namespace)
    server = await scene.start(alone)
  })
  after(() => scene?.[Symbol.asyncDispose]())

  /** Long enough for a schedule of every second to do what it should not. */
  const aWhile = () => sleep(1_500)

  it('makes a backup of the template when it is due, with labels, annotations and owner', async () => {
    const template = { includedNamespaces: [scene.data], ttl: '3h0m0s' }
    const spec = { schedule: '@every 2s', template, useOwnerReferencesInBackup: true }
    const meta = { labels: { team: 'a' }, annotations: { note: 'x' } }
    const { metadata } = await schedules.create('first', spec, meta)
    const [backup] = await schedules.made('first', 1)
    assert.ok(backup)
    assert.match(backup.metadata.name ?? '', /^first-\d{14}$/)
    assert.deepEqual(backup.spec, template)
    assert.deepEqual(backup.metadata.labels, { team: 'a', 'velero.io/schedule-name': 'first' })
    assert.equal(backup.metadata.annotations?.note, 'x')
    assert.deepEqual(backup.metadata.ownerReferences, [
      { apiVersion: 'velero.io/v1', kind: 'Schedule', name: 'first', uid: metadata.uid, controller: true },
    ])
    const { status } = await schedules.until('first', ({ status }) => !!status?.lastBackup)
    assert.equal(status?.phase, 'Enabled')
    assert.ok(Date.parse(status?.lastBackup ?? '') >= Date.parse(dueOf(backup)))
  })

  it('makes no other one until the backup has ended, whatever it waits for', async () => {
    await schedules.create('held', { schedule: '@every 1s' })
    const [first] = await schedules.made('held', 1)
    assert.ok(first)
    for (const phase of ['WaitingForPluginOperations', 'Finalizing']) {
      await schedules.setPhase(first, phase)
      await aWhile()
      assert.equal((await schedules.backupsOf('held')).length, 1, phase)
    }
    await schedules.setPhase(first, 'PartiallyFailed')
    const [, second] = await schedules.made('held', 2)
    assert.ok(second)
    assert.notEqual(dueOf(second), dueOf(first))
    await schedules.delete('held')
    await schedules.setPhase(second, 'Completed')
    await aWhile()
    assert.equal((await schedules.backupsOf('held')).length, 2, 'a deleted schedule goes on')
  })

  it('makes none while it is paused, and then one for all that it missed', async () => {
    await schedules.create('paused', { schedule: '@every 1s', paused: true })
    await aWhile()
    assert.deepEqual(await schedules.backupsOf('paused'), [])
    await schedules.patch('paused', { spec: { paused: false } })
    const [only, ...more] = await schedules.made('paused', 1)
    assert.ok(only)
    assert.deepEqual(more, [])
    await schedules.patch('paused', { spec: { paused: true } })
    await schedules.setPhase(only, 'Completed')
    await aWhile()
    assert.equal((await schedules.backupsOf('paused')).length, 1)
  })

  it('leaves out what is due when it is told to, once', async () => {
    await schedules.create('skipping', { schedule: '0 0 1 1 *', skipImmediately: true })
    const { spec, status } = await schedules.until('skipping', ({ status }) => !!status?.lastSkipped)
    assert.equal(spec.skipImmediately, false)
    assert.equal(status?.phase, 'Enabled')
    // As if it had slept for years: what it missed is due.
    const old = { lastSkipped: null, lastBackup: '2020-01-01T00:00:00Z' }
    await schedules.patch('skipping', { spec: { skipImmediately: true }, status: old })
    await schedules.until('skipping', seen => !!seen.status?.lastSkipped)
    await aWhile()
    assert.deepEqual(await schedules.backupsOf('skipping'), [])
    await schedules.patch('skipping', { status: old })
    assert.equal((await schedules.made('skipping', 1)).length, 1)
  })

  it('says what is wrong with a schedule in its status and by an event, until it is corrected', async () => {
    await schedules.create('wrong', { schedule: '0 25 * * *' })
    const { status } = await schedules.until('wrong', seen => seen.status?.phase === 'FailedValidation')
    assert.match(status?.validationErrors?.join() ?? '', /^invalid schedule: 25 is more than 23 in the hour/)
    const message = await eventAbout('wrong')
    assert.match(message, /25 is more than 23/)
    await schedules.patch('wrong', { spec: { schedule: '0 5 * * *' } })
    const corrected = await schedules.until('wrong', seen => seen.status?.phase === 'Enabled')
    assert.equal(corrected.status?.validationErrors, undefined)
  })

  it('refuses a name that leaves no room for the names of backups', async () => {
    const longest = `${'x'.repeat(63)}.`.repeat(4).slice(0, 237)
    await schedules.create(`${longest}ab`, { schedule: '@every 1s' })
    const { status } = await schedules.until(`${longest}ab`, ({ status }) => status?.phase !== undefined)
    assert.equal(status?.phase, 'FailedValidation')
    assert.match(status?.validationErrors?.join() ?? '', /the name is too long/)
    await schedules.create(`${longest}a`, { schedule: '@every 1s' })
    await schedules.until(`${longest}a`, ({ status }) => !!status?.lastBackup)
    const all = await scene.backups.list()
    const made = all.find(({ metadata }) => metadata.name?.startsWith(`${longest}a-`))
    assert.equal(made?.metadata.name?.length, 253)
    await schedules.delete(`${longest}a`)
  })

  it('counts from now when its clock was behind what the schedule remembers', async () => {
    await schedules.create('ahead', { schedule: '@every 1s', paused: true })
    const ahead = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '')
    await schedules.patch('ahead', { spec: { paused: false }, status: { lastBackup: ahead } })
    assert.equal((await schedules.made('ahead', 1)).length, 1)
    await schedules.delete('ahead')
  })

  it('makes one backup for a time, though it cannot take note of it and is killed', async () => {
    const policy = await forbidNotes('unnoted')
    try {
      await schedules.create('unnoted', { schedule: '@every 1s' })
      const [backup] = await schedules.made('unnoted', 1)
      assert.ok(backup)
      // It has ended, so that only the time for which it was made keeps the next from being made.
      await schedules.setPhase(backup, 'Completed')
      await aWhile()
      assert.equal((await schedules.backupsOf('unnoted')).length, 1)
      await server.kill()
      server = await scene.start(alone)
      await aWhile()
      assert.equal((await schedules.backupsOf('unnoted')).length, 1)
    } finally {
      await policy[Symbol.asyncDispose]()
    }
    const { status } = await schedules.until('unnoted', seen => !!seen.status?.lastBackup)
    assert.ok(status?.lastBackup)
    const [first, second] = await schedules.made('unnoted', 2)
    assert.ok(first && second)
    assert.notEqual(dueOf(first), dueOf(second))
    await schedules.delete('unnoted')
  })

  for (const seed of rotatingSeeds({ name: 'killed-schedule', count: 2, soakCount: 100 })) {
    it(`makes one backup for each time, though it is killed at any moment (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      const name = `killed-${seed}`
      await schedules.create(name, { schedule: '@every 1s' })
      const done = new AbortController()
      const ending = endAll(name, done.signal)
      await schedules.made(name, 1)
      for (let round = 0; round < 2; round += 1) {
        await sleep(random.next() * 1_500)
        await server.kill()
        server = await scene.start(alone)
        await schedules.made(name, (await schedules.backupsOf(name)).length + 1)
      }
      await schedules.delete(name)
      done.abort()
      await ending
      const dues = (await schedules.backupsOf(name)).map(dueOf)
      assert.equal(new Set(dues).size, dues.length, dues.join())
      test.diagnostic(`${dues.length} backups`)
    })
  }

  /** Ends backups as soon as they are there. */
  async function endAll(name: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const backup of await schedules.backupsOf(name)) {
        if (backup.status?.phase !== 'Completed') await schedules.setPhase(backup, 'Completed')
      }
      await sleep(50)
    }
  }

  async function eventAbout(name: string): Promise<string> {
    const fields = `--field-selector=involvedObject.kind=Schedule,involvedObject.name=${name}`
    return waitUntil(
      async () => {
        const text = await given.cluster.kubectl([
          'get',
          'events',
          '-n',
          scene.namespace,
          fields,
          '-o',
          'json',
        ])
        return JSON.parse(text).items[0]?.message as string | undefined
      },
      { timeoutMs: 120_000, failure: () => new Error(`no event about ${name}`) },
    )
  }

  /** Lets the API server refuse to store when a schedule made a backup. */
  async function forbidNotes(schedule: string): Promise<AsyncDisposable> {
    const { kubectl } = given.cluster
    const name = `${scene.namespace}-${schedule}`
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: policyObjects(name, schedule) })
    await kubectl(['apply', '-f', '-'], { stdin })
    await schedules.create(`${schedule}-trial`, { schedule: '@yearly', paused: true })
    const note = { status: { lastBackup: '2026-01-01T00:00:00Z' } }
    await waitUntil(
      () =>
        schedules.patch(`${schedule}-trial`, note).then(
          () => false,
          () => true,
        ),
      {
        timeoutMs: 60_000,
        failure: () => new Error('the policy does not take effect'),
      },
    )
    return {
      async [Symbol.asyncDispose]() {
        await kubectl(['delete', '-f', '-', '--ignore-not-found'], { stdin })
      },
    }
  }

  function policyObjects(name: string, schedule: string): object[] {
    const apiVersion = 'admissionregistration.k8s.io/v1'
    const rule = { apiGroups: ['velero.io'], apiVersions: ['v1'], resources: ['schedules'] }
    return [
      {
        apiVersion,
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name },
        spec: {
          matchConstraints: { resourceRules: [{ ...rule, operations: ['UPDATE'] }] },
          validations: [
            {
              expression: `!object.metadata.name.startsWith('${schedule}') || !has(object.status) || !has(object.status.lastBackup)`,
              message: 'notes are forbidden',
            },
          ],
        },
      },
      {
        apiVersion,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name },
        spec: {
          policyName: name,
          validationActions: ['Deny'],
          matchResources: {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': scene.namespace } },
          },
        },
      },
    ]
  }
})
