import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { BackupKind } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { openServerScene, type ServerScene } from '../cluster/backup-server-scene.ts'
import type { RunningServer } from '../cluster/storage-location-harness.ts'
import { ownTemporaryFolder } from './own-temporary-folder.ts'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { processesWith } from './plugin-host-scene.ts'

const given = await givenCluster({ s3: true })

/** What makes the odd program do what its name says; others come after each. */
const effects = ['logs', 'prints', 'floods', 'exits', 'throws-later', 'rejects-later', 'hangs', 'blocks']
/** Those that a call does not come back from. */
const stuck = ['hangs', 'blocks']
const fineOnes = 15

describe('a server whose plugin program is faulty', { skip: given.skip, concurrency: false }, () => {
  let folder: PluginFolder
  let scene: ServerScene
  let server: RunningServer
  const all = new AsyncDisposableStack()

  before(async () => {
    all.use(await ownTemporaryFolder())
    folder = all.use(await makePluginFolder())
    await folder.script('odd', 'odd-plugin.ts')
    await folder.add('stray', '#!/bin/sh\necho not a plugin\n')
    scene = all.use(await openServerScene(given.cluster, 'faulty'))
    const object = (name: string, odd: string) => {
      const labels = { 'example.com/odd': odd, effect: stuck.includes(odd) ? odd : 'other' }
      return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: scene.data, labels } }
    }
    const items = effects.flatMap((effect, round) => [
      object(`${round}-${effect}`, effect),
      ...Array.from({ length: fineOnes }, (_, index) => object(`${round}-fine-${index}`, 'fine')),
    ])
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await given.cluster.kubectl(['create', '-f', '-'], { stdin })
    server = await start()
  })
  after(() => all.disposeAsync())

  // One object after the other, so that no other one is in the program's hands when it ends.
  const start = () => scene.start({ pluginFolder: folder.path, itemBlockWorkerCount: 1 })
  const programs = () => processesWith(`FAULTY_NOTES=${folder.notes}`)
  const spec = (effect: string) => ({
    includedNamespaces: [scene.data],
    includedResources: ['configmaps'],
    labelSelector: { matchLabels: { effect } },
  })

  it('starts nevertheless, and says what it does not use', () => {
    const warnings = server.log.filter(({ level, msg }) => level === 'warn' && /is not used$/.test(msg))
    assert.deepEqual(
      warnings.map(({ file }) => path.basename(String(file))),
      ['stray'],
    )
  })

  it('loses the objects in whose calls the program ended, and no others', async () => {
    const { status } = await scene.backups.take('odd', spec('other'))
    assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
    const stored = [...(await scene.bucket.unpack('odd')).keys()].map(key => path.basename(key, '.json'))
    const all = effects.flatMap((effect, round) => [
      ...(stuck.includes(effect) ? [] : [`${round}-${effect}`]),
      ...Array.from({ length: fineOnes }, (_, index) => `${round}-fine-${index}`),
    ])
    assert.deepEqual(
      all.filter(name => !stored.includes(name)),
      ['3-exits', '4-throws-later', '5-rejects-later'],
    )
    assert.ok((status?.errors ?? 0) >= 3 && (status?.warnings ?? 0) >= 1, JSON.stringify(status))
    const { errors } = (await scene.bucket.readJson('odd', '-results.gz')) as {
      errors: { namespaces?: Record<string, string[]> }
    }
    const told = JSON.stringify(errors)
    for (const name of ['3-exits', '4-throws-later', '5-rejects-later']) assert.match(told, new RegExp(name))
  })

  it('has what the program said in the log of the backup', async () => {
    const log = gunzipSync(await scene.bucket.read('backups/odd/odd-logs.gz')).toString()
    assert.match(log, /Odd fields/)
    assert.match(log, /a line for people/)
    assert.match(log, /nobody catches this/)
    assert.match(log, /nobody waits for this/)
    assert.match(log, /One of many/)
    assert.deepEqual(await programs(), [])
  })

  /** Starts a backup that waits for the program for ever. */
  async function hang(name: string, effect: 'hangs' | 'blocks' = 'hangs'): Promise<void> {
    const asked = async () => (await folder.noted()).filter(({ what }) => what === effect).length
    const before = await asked()
    await scene.backups.create(name, spec(effect))
    await waitUntil(async () => (await asked()) > before, {
      timeoutMs: 120_000,
      failure: () => new Error('the program is not asked'),
    })
  }

  it('can be told to give up a backup whose plugin never answers', async () => {
    await hang('hangs')
    const body = { metadata: { annotations: { 'lateen.dev/cancel': 'true' } } }
    await scene.client.resource(BackupKind, scene.namespace).patch('hangs', { type: 'merge', body })
    const { status } = await scene.backups.ended('hangs')
    assert.equal(status?.phase, 'Failed')
    assert.match(status?.failureReason ?? '', /cancelled by request/)
    await waitUntil(async () => (await programs()).length === 0, {
      timeoutMs: 120_000,
      failure: () => new Error('the program stays'),
    })
  })

  it('leaves no program behind when it is told to stop', async () => {
    await hang('stopped')
    assert.equal(await server.stop(), 0)
    assert.deepEqual(await programs(), [])
  })

  it('says that a backup has failed when it is told to stop, also where the program does not hear that it is to end', async () => {
    server = await start()
    await hang('blocked', 'blocks')
    assert.equal(await server.stop(), 0)
    const { status } = await scene.client.resource(BackupKind, scene.namespace).get('blocked')
    assert.equal(status?.phase, 'Failed')
    assert.equal(status?.failureReason, 'the server was stopped during the backup')
    assert.deepEqual(await programs(), [])
  })

  it('ends what a killed server left behind when it starts again', async () => {
    server = await start()
    await hang('killed')
    await server.kill()
    assert.notDeepEqual(await programs(), [])
    server = await start()
    await waitUntil(async () => (await programs()).length === 0, {
      timeoutMs: 120_000,
      failure: () => new Error('the program stays'),
    })
    for (const name of ['stopped', 'killed']) {
      assert.equal((await scene.backups.ended(name)).status?.phase, 'Failed', name)
    }
  })
})
