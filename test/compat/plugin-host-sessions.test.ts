import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { silentLogger } from '@lateen/kube'
import { type ActionItem, type BackupItemAction, isObjectStoreError, isPluginError } from '@lateen/plugin'
import { noBuiltInPlugins } from '../../packages/server/src/plugin-host/built-in-plugins.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { collectLog } from './collected-log.ts'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { openPluginHost, type PluginHost } from './plugin-host-scene.ts'

const item: ActionItem = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } }
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const log = silentLogger

/** One of the server's, which tells that it was asked. */
const builtIn: BackupItemAction = {
  appliesTo: async () => ({}),
  execute: async ({ item }) => ({
    item: { ...item, metadata: { ...item.metadata, labels: { by: 'server' } } },
  }),
}
const builtIns = () => ({
  ...noBuiltInPlugins,
  backupItemActions: [
    { name: 'example.com/first', action: builtIn },
    { name: 'example.com/fine', action: builtIn },
  ],
})

describe('a session with the plugins of programs', () => {
  let folder: PluginFolder
  let host: PluginHost
  const scene = new AsyncDisposableStack()

  before(async () => {
    folder = scene.use(await makePluginFolder())
    await folder.script('10-faulty', 'faulty-plugin.ts')
    await folder.script('20-versions', '../../examples/backup-item-action-v3.ts')
    await folder.script('30-stores', '../../examples/object-store.ts')
    await mkdir(path.join(folder.notes, 'backups'))
    host = scene.use(await openPluginHost({ folder: folder.path, builtIns }))
  })
  after(() => scene.disposeAsync())

  it('has the actions of the server, then those of programs in the order of files, kinds and names', async () => {
    await using session = host.registry.open({ log })
    const names = session.backupItemActions().map(({ name }) => name)
    assert.deepEqual(names.slice(0, 2), ['example.com/first', 'example.com/fine'])
    const version = (kind: string) => host.registry.plugins.filter(plugin => plugin.kind === kind)
    const inOrder = ['BackupItemAction', 'BackupItemActionV2', 'BackupItemActionV3'].flatMap(kind =>
      version(kind)
        .filter(({ program = '' }) => program.endsWith('10-faulty'))
        .map(({ name }) => name)
        .sort(),
    )
    assert.ok(inOrder.length > 5)
    assert.deepEqual(names.slice(2, -1), inOrder)
    assert.equal(names.at(-1), 'example.lateen.dev/with-environment')
    assert.equal(names.filter(name => name === 'example.com/fine').length, 1)
  })

  it('has the action of the server where both have one, and tells so', async () => {
    await using session = host.registry.open({ log })
    const { item: stored } = await session.backupItemAction('example.com/fine').execute({ item, backup })
    assert.deepEqual(stored?.metadata.labels, { by: 'server' })
    const told = host.log.entries.find(({ fields }) => fields.name === 'example.com/fine' && 'hint' in fields)
    assert.equal(told?.level, 'warn')
    assert.equal(told?.fields.file, path.join(folder.path, '10-faulty'))
    assert.match(String(told?.fields.hint), /--prefer-external-plugins/)
  })

  it('has the action of the program where that is preferred, and the server has its own no longer', async () => {
    await using preferring = await openPluginHost({ folder: folder.path, builtIns, prefer: true })
    await using session = preferring.registry.open({ log })
    const names = session.backupItemActions().map(({ name }) => name)
    assert.equal(names.filter(name => name === 'example.com/fine').length, 1)
    assert.equal(names[0], 'example.com/first')
    const { unchanged } = await session.backupItemAction('example.com/fine').execute({ item, backup })
    assert.equal(unchanged, true)
    const own = preferring.registry.plugins.filter(({ program }) => program === undefined)
    assert.deepEqual(own, [{ kind: 'BackupItemAction', name: 'example.com/first' }])
  })

  it('asks a backup item action of version 3 for the items of a block', async () => {
    await using session = host.registry.open({ log })
    const block = session
      .itemBlockActions()
      .find(({ name }) => name === 'example.lateen.dev/with-environment')
    const envFrom = [{ configMapRef: { name: 'settings' } }]
    const pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n' } },
      spec: { containers: [{ name: 'c', image: 'c', envFrom }] },
    }
    const related = await block?.action.getRelatedItems({ item: pod, backup })
    assert.deepEqual(related, [{ group: '', resource: 'configmaps', namespace: 'n', name: 'settings' }])
  })

  it('starts nothing before it is asked, one process for all plugins of a program, and none that stays', async () => {
    const count = async () => (await host.processes()).length
    const session = host.registry.open({ log })
    session.backupItemActions()
    assert.equal(await count(), 0)
    const actions = ['refuses', 'panics', 'exits-soon', 'hangs'].map(name =>
      session.backupItemAction(`example.com/${name}`),
    )
    await Promise.all(actions.map(action => action.appliesTo()))
    const snapshotter = session.volumeSnapshotter('example.com/snapshotter')
    await snapshotter.init({ config: { a: '1' } })
    assert.equal(await count(), 1)
    await session[Symbol.asyncDispose]()
    assert.equal(await count(), 0)
    await assert.rejects(Promise.resolve(actions[0]?.appliesTo()), error =>
      isPluginError(error, 'UNAVAILABLE'),
    )
    assert.equal(await count(), 0)
  })

  it('keeps plugins of one name apart that have different settings', async () => {
    await using session = host.registry.open({ log })
    const [one, same, other] = ['1', '1', '2'].map(a => ({
      a,
      snapshotter: session.volumeSnapshotter('example.com/snapshotter'),
    }))
    assert.ok(one && same && other)
    const already = (await folder.noted()).length
    for (const { a, snapshotter } of [one, same, other]) await snapshotter.init({ config: { a } })
    for (const { a, snapshotter } of [other, one, same]) {
      await snapshotter.createSnapshot({ volumeId: `volume-${a}`, volumeZone: '', tags: {} })
    }
    const noted = (await folder.noted()).slice(already)
    const pids = (what: string) => new Set(noted.filter(note => note.what === what).map(({ pid }) => pid))
    assert.deepEqual(pids('snapshot volume-1'), pids('init snapshotter {"a":"1"}'))
    assert.deepEqual(pids('snapshot volume-2'), pids('init snapshotter {"a":"2"}'))
    assert.equal(pids('started').size, 2)
  })

  it('does not wait for a program to start when its caller has left', async () => {
    await using session = host.registry.open({ log })
    const reason = new Error('the caller has left')
    const left = session
      .backupItemAction('example.com/refuses')
      .execute({ item, backup, signal: AbortSignal.abort(reason) })
    await assert.rejects(left, reason)
    const leaving = new AbortController()
    const waiting = session
      .backupItemAction('example.com/refuses')
      .execute({ item, backup, signal: leaving.signal })
    leaving.abort(reason)
    await assert.rejects(waiting, reason)
  })

  it('ends calls that have no signal of their own with the work that it is for', async () => {
    const work = new AbortController()
    await using session = host.registry.open({ log, signal: work.signal })
    const action = session.backupItemAction('example.com/refuses')
    await action.appliesTo()
    const reason = new Error('the work has ended')
    const asking = action.appliesTo()
    work.abort(reason)
    await assert.rejects(asking, reason)
    await assert.rejects(action.appliesTo(), reason)
    // Ending what was begun is part of the end, and has a signal of its own.
    const { signal } = new AbortController()
    const refused = action.execute({ item, backup, signal })
    await assert.rejects(refused, error => isPluginError(error, 'FAILED'))
  })

  it('knows no plugin that is not there', async () => {
    await using session = host.registry.open({ log })
    for (const ask of [
      () => session.backupItemAction('example.com/none'),
      () => session.restoreItemAction('example.com/fine'),
      () => session.volumeSnapshotter('none'),
    ]) {
      assert.throws(ask, error => isPluginError(error, 'NO_SUCH_PLUGIN'))
    }
    assert.throws(
      () => session.objectStore('none'),
      error => isObjectStoreError(error, 'INVALID_CONFIG') && /example.com\/store/.test(error.message),
    )
  })

  it('gives a location a store of a program, which ends with the store', async () => {
    const { objectStores } = host.registry
    assert.deepEqual(objectStores.names, ['example.com/store', 'example.lateen.dev/folder'])
    const store = objectStores.create('example.lateen.dev/folder')
    await store.init({ config: { path: folder.notes, bucket: 'backups' } })
    await store.putObject({ bucket: 'backups', key: 'a/b', body: Buffer.from('content') })
    assert.equal(await text(await store.getObject({ bucket: 'backups', key: 'a/b' })), 'content')
    assert.deepEqual(await Array.fromAsync(store.listObjects({ bucket: 'backups', prefix: 'a/' })), ['a/b'])
    const missing = store.getObject({ bucket: 'backups', key: 'none' })
    await assert.rejects(missing, error => isObjectStoreError(error, 'NOT_FOUND'))
    assert.equal((await host.processes()).length, 1)
    // Somebody who opens an object and forgets it must not bring the server down.
    const forgotten = await store.getObject({ bucket: 'backups', key: 'a/b' })
    await store[Symbol.asyncDispose]()
    assert.deepEqual(await host.processes(), [])
    forgotten.destroy()
  })

  it('closes what was to be stored when the program does not start', async () => {
    await using own = await makePluginFolder()
    await own.script('faulty', 'faulty-plugin.ts')
    await using another = await openPluginHost({ folder: own.path })
    await own.add('faulty', '#!/bin/sh\nexit 3\n')
    await using session = another.registry.open({ log })
    const store = session.objectStore('example.com/store')
    const body = Readable.from([Buffer.from('a')])
    const put = store.putObject({ bucket: 'b', key: 'k', body })
    await assert.rejects(
      put,
      error => isObjectStoreError(error, 'UNREACHABLE') && /exit code 3/.test(error.message),
    )
    assert.equal(body.destroyed, true)
  })
})

describe('a program', () => {
  it('gets the environment of the server and what Velero gives, but for what it would misunderstand', async () => {
    await using folder = await makePluginFolder()
    const seen = path.join(folder.notes, 'seen-env')
    await folder.add('tells', `#!/bin/sh\nenv > '${seen}'\necho "$0 $*" >> '${seen}'\nexit 1\n`)
    await using _host = await openPluginHost({
      folder: folder.path,
      namespace: 'backups',
      features: ['EnableCSI', 'Other'],
      logLevel: 'debug',
      env: { AWS_REGION: 'here', PLUGIN_CLIENT_CERT: 'x', PLUGIN_MULTIPLEX_GRPC: 'true' },
    })
    const lines = (await readFile(seen, 'utf8')).trim().split('\n')
    for (const expected of [
      'AWS_REGION=here',
      'VELERO_PLUGIN=hello',
      'PLUGIN_PROTOCOL_VERSIONS=2',
      'LATEEN_PLUGIN_KINDS=BackupItemActionV3',
      'VELERO_NAMESPACE=backups',
    ]) {
      assert.ok(lines.includes(expected), expected)
    }
    for (const variable of ['PLUGIN_CLIENT_CERT', 'PLUGIN_MULTIPLEX_GRPC']) {
      assert.ok(!lines.some(line => line.startsWith(`${variable}=`)), variable)
    }
    const command = `${path.join(folder.path, 'tells')} --log-level=debug --features=EnableCSI,Other`
    assert.equal(lines.at(-1), command)
  })

  it("has its lines in the session's log, with its name and their level", async () => {
    await using folder = await makePluginFolder()
    await folder.script('odd', 'odd-plugin.ts')
    await using host = await openPluginHost({ folder: folder.path })
    const own = collectLog()
    await using session = host.registry.open({ log: own.child({ backup: 'velero/b' }) })
    await session.backupItemAction('example.com/logs').execute({ item, backup })
    // Its lines and its answers come by different ways.
    const told = () => own.entries.find(({ message }) => message === 'Odd fields')
    await untilSeen('a line of the program', async () => told())
    const { level, fields } = told() ?? {}
    assert.equal(level, 'warn')
    const { backup: of, pluginName, cmd, plugin, name, namespace } = fields ?? {}
    assert.deepEqual(
      { of, pluginName, cmd, plugin, name, namespace },
      {
        of: 'velero/b',
        pluginName: 'odd',
        cmd: path.join(folder.path, 'odd'),
        plugin: 'example.com/logs',
        name: '5',
        namespace: 'null',
      },
    )
  })

  it('has its actions of CSI run only where that feature is on', async () => {
    await using folder = await makePluginFolder()
    await folder.script('csi', 'csi-named-plugin.ts')
    for (const features of [[], ['EnableCSI']]) {
      await using host = await openPluginHost({ folder: folder.path, features })
      await using session = host.registry.open({ log })
      const names = [...session.backupItemActions(), ...session.restoreItemActions()].map(({ name }) => name)
      assert.equal(names.length, features.length * 2 + 1)
      await session.backupItemAction('velero.io/csi-pvc-backupper').appliesTo()
    }
  })
})
