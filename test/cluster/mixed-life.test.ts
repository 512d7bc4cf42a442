import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BackupKind, cancelAnnotation, DeleteBackupRequestKind, RestoreKind, ScheduleKind } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { makePluginFolder, type PluginFolder } from '../compat/plugin-folder.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type Lateen, lateenFor } from './cli-runner.ts'
import { Deletions } from './deletions.ts'
import { createCopied, OperationsFolder } from './operations-folder.ts'
import { isEnded } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

/** Things that somebody does in one life; the soak has 50 lives, and so a thousand of them. */
const steps = 20

const kinds = ['backups', 'restores', 'deletebackuprequests', 'podvolumebackups', 'schedules']

describe('a server that is killed again and again, with much to do', {
  skip: given.skip,
  concurrency: false,
}, () => {
  let scene: ServerScene
  let server: RunningServer
  let deletions: Deletions
  let operations: OperationsFolder
  let programs: PluginFolder
  let copied: string
  const stack = new AsyncDisposableStack()

  before(async () => {
    operations = stack.use(await OperationsFolder.create())
    programs = stack.use(await makePluginFolder())
    const env = { NODE_COMPILE_CACHE: path.join(programs.notes, 'compiled') }
    await programs.launcher('operations', { command: [path.join(operations.plugins, 'operations')], env })
    scene = stack.use(await openServerScene(given.cluster, 'mixed-life'))
    deletions = new Deletions(scene)
    await createConfigMaps(scene, { count: 5, bytes: 1_000 })
    copied = await createCopied(scene, 'copied', [{ name: 'slow' }])
    server = await start()
  })
  after(async () => {
    await stack.disposeAsync()
    const made = [copied, restoredTo()].filter(Boolean)
    await given.cluster.kubectl(['delete', 'namespace', ...made, '--ignore-not-found', '--wait=false'])
  })

  const start = () =>
    scene.start({ pluginFolder: programs.path, itemOperationSyncFrequency: 500, concurrentBackups: 3 })
  const restoredTo = () => `${scene.data}-restored`

  for (const seed of rotatingSeeds({ name: 'mixed-life', count: 1, soakCount: 50 })) {
    it(`leaves nothing behind (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      for (let step = 0; step < steps; step++) {
        await live(random, `${seed}-${step}`)
        await sleep(random.chance(0.5) ? random.integer(0, 1_500) : 0)
        if (random.chance(0.15)) {
          await server.kill()
          server = await start()
        }
      }
      await rest(test)
      assert.deepEqual(await doctor(), [])
      await removeAll()
      assert.deepEqual(await doctor(), [])
      assert.deepEqual(await objects(), [])
      assert.deepEqual(await scene.bucket.keys(), [])
    })
  }

  it('has not left anything in its scratch folder', async () => {
    assert.equal(await server.stop(), 0)
    assert.deepEqual(await readdir(scene.scratch), [])
  })

  /** Does something that users do, whatever goes on. */
  async function live(random: SeededRandom, name: string): Promise<void> {
    const backup = async () => nameOfOne(random, await scene.backups.list())
    const restore = async () => nameOfOne(random, await scene.restores.list())
    const act = random.pick([
      () => scene.backups.create(`plain-${name}`, { includedNamespaces: [scene.data] }),
      () => scene.backups.create(`waits-${name}`, { includedNamespaces: [copied] }),
      async () => finish(await backup()),
      async () => restoreFrom(`again-${name}`, await backup()),
      async () => {
        const found = await backup()
        if (found) await deletions.request(found)
      },
      async () => {
        const found = await restore()
        if (found) await scene.restores.delete(found).catch(unlessNotFound)
      },
      async () => cancel('backup', await backup()),
      async () => cancel('restore', await restore()),
      () => (random.chance(0.5) ? makeSchedule(`often-${name}`) : removeSchedules()),
    ])
    await act()
  }

  async function finish(backup: string | undefined): Promise<void> {
    if (backup) await operations.completeAll(backup)
  }

  async function restoreFrom(name: string, backupName: string | undefined): Promise<void> {
    if (!backupName) return
    const namespaceMapping = { [scene.data]: restoredTo(), [copied]: restoredTo() }
    await scene.restores.create(name, { backupName, namespaceMapping })
  }

  async function cancel(what: 'backup' | 'restore', name: string | undefined): Promise<void> {
    if (!name) return
    const body = { metadata: { annotations: { [cancelAnnotation]: 'true' } } }
    const patch = { type: 'merge', body } as const
    const { client, namespace } = scene
    if (what === 'backup')
      await client.resource(BackupKind, namespace).patch(name, patch).catch(unlessNotFound)
    else await client.resource(RestoreKind, namespace).patch(name, patch).catch(unlessNotFound)
  }

  async function makeSchedule(name: string): Promise<void> {
    await scene.client.resource(ScheduleKind, scene.namespace).create({
      apiVersion: 'velero.io/v1',
      kind: 'Schedule',
      metadata: { name, namespace: scene.namespace },
      spec: { schedule: '@every 2s', template: { includedNamespaces: [scene.data] } },
    })
  }

  async function removeSchedules(): Promise<void> {
    const schedules = scene.client.resource(ScheduleKind, scene.namespace)
    for (const { metadata } of await schedules.list().toArray()) {
      await schedules.delete(metadata.name ?? '').catch(unlessNotFound)
    }
  }

  /** Nothing new comes, and all that there is comes to its end. */
  async function rest(test: TestContext): Promise<void> {
    await removeSchedules()
    const phases: string[] = []
    for (const { metadata } of await scene.backups.list()) phases.push(await endOf(metadata.name ?? ''))
    // One that was asked for last may not have begun when its backup was looked at. It takes the restores of the backup with it.
    await waitUntil(
      async () => (await deletions.list()).every(({ status }) => status?.phase === 'Processed'),
      {
        timeoutMs: 180_000,
        failure: async () => new Error(`deletions go on: ${JSON.stringify(await deletions.list())}`),
      },
    )
    for (const { metadata } of await scene.restores.list()) await endOfRestore(metadata.name ?? '')
    test.diagnostic(`backups ended as ${[...new Set(phases)].sort().join(', ')}`)
  }

  /** The phase in which a backup ends, or that it is gone. */
  async function endOf(name: string): Promise<string> {
    for (;;) {
      const found = await scene.backups.get(name).catch(unlessNotFound)
      if (found === undefined) return 'gone'
      const { phase = 'New' } = found.status ?? {}
      if (/^(Completed|PartiallyFailed|Failed|FailedValidation)$/.test(phase)) return phase
      await operations.completeAll(name)
      await sleep(100)
    }
  }

  /** Waits until a restore has ended or, if it is being deleted, is gone. */
  async function endOfRestore(name: string): Promise<void> {
    const read = () => scene.restores.get(name).catch(unlessNotFound)
    await waitUntil(
      async () => {
        const found = await read()
        return found === undefined || (found.metadata.deletionTimestamp === undefined && isEnded(found))
      },
      {
        timeoutMs: 180_000,
        failure: async () => new Error(`${name} stays: ${JSON.stringify(await read())}`),
      },
    )
  }

  async function removeAll(): Promise<void> {
    const names = (await scene.backups.list()).map(({ metadata }) => metadata.name ?? '')
    for (const name of names) await deletions.request(name)
    for (const name of names) await deletions.done(name)
    for (const { metadata } of await scene.restores.list()) {
      const name = metadata.name ?? ''
      await scene.restores.delete(name).catch(unlessNotFound)
      await scene.restores.gone(name)
    }
    // A request that came too late for its backup says so for a day.
    const requests = scene.client.resource(DeleteBackupRequestKind, scene.namespace)
    for (const { metadata, status } of await deletions.list()) {
      assert.equal(status?.phase, 'Processed', JSON.stringify(status))
      assert.match(status?.errors?.join() ?? '', /backup not found/)
      await requests.delete(metadata.name ?? '')
    }
  }

  async function doctor(): Promise<string[]> {
    const { stdout, stderr } = await lateen([
      '-n',
      scene.namespace,
      'doctor',
      '-o',
      'json',
      '--older-than=0s',
    ])
    assert.equal(stderr, '')
    const { findings } = JSON.parse(stdout) as {
      findings: { type: string; subject: string; problem: string }[]
    }
    return findings.map(({ type, subject, problem }) => `${type} ${subject}: ${problem}`)
  }

  /** Everything in the server's namespace that has to do with backups, as kubectl lists it. */
  async function objects(): Promise<string[]> {
    const types = kinds.map(kind => `${kind}.velero.io`).join()
    const names = await scene.cluster.kubectl(['get', types, '-n', scene.namespace, '-o', 'name'])
    return names.split('\n').filter(name => name !== '')
  }
})

function nameOfOne(
  random: SeededRandom,
  objects: readonly { metadata: { name?: string } }[],
): string | undefined {
  return objects.length === 0 ? undefined : random.pick(objects).metadata.name
}
