import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { ServerStatusRequestKind } from '@lateen/api'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { veleroMissing } from '../compat/backup-pair.ts'
import { ownTemporaryFolder } from '../compat/own-temporary-folder.ts'
import { makePluginFolder, type PluginFolder } from '../compat/plugin-folder.ts'
import { untilNoneWith } from '../compat/plugin-host-scene.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

const withoutVelero = await veleroMissing()

describe('a server with a plugins folder', { skip: given.skip }, () => {
  let scene: ServerScene
  let folder: PluginFolder
  let server: RunningServer
  const stack = new AsyncDisposableStack()
  const started = async () => (await folder.noted()).filter(({ what }) => what === 'started')
  const untilProgramsGone = () => untilNoneWith(`FAULTY_NOTES=${folder.notes}`)
  const configMap = async (name: string) => {
    const item = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: scene.data } }
    await scene.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(item) })
  }

  before(async () => {
    stack.use(await ownTemporaryFolder())
    folder = stack.use(await makePluginFolder())
    await folder.script('acting', '../cluster/acting-plugin.ts')
    await folder.script('storing', '../../examples/object-store.ts')
    await folder.add('stray', '#!/bin/sh\necho hello\n')
    await mkdir(path.join(folder.notes, 'buckets', 'backups'), { recursive: true })
    scene = stack.use(await openServerScene(given.cluster, 'plugins'))
    await configMap('plain')
    server = await scene.start({ pluginFolder: folder.path })
  })
  after(() => stack.disposeAsync())

  it('uses its plugins in a backup, whose log has what they say and whose warnings count theirs', async () => {
    const backup = await scene.backups.take('acted', { includedNamespaces: [scene.data] })
    assert.equal(backup.status?.phase, 'Completed')
    assert.equal(backup.status?.warnings, 1)
    const stored = (await scene.bucket.unpack('acted')).get(
      `resources/configmaps/namespaces/${scene.data}/plain.json`,
    )
    assert.equal(stored?.metadata.annotations?.['example.com/seen'], 'true')
    const log = gunzipSync(await scene.bucket.read('backups/acted/acted-logs.gz')).toString()
    assert.match(log, /"cmd":"\S+acting",.*"pluginName":"acting","level":"warning","msg":"Something to know"/)
    await untilProgramsGone()
  })

  it('starts beside a program that is no plugin, and tells which it is', () => {
    const warning = server.log.find(({ level, file }) => level === 'warn' && String(file).endsWith('/stray'))
    assert.match(String(warning?.reason), /hello/)
    assert.ok(warning?.hint)
  })

  it('lists all plugins to who asks for them', async () => {
    const requests = scene.client.resource(ServerStatusRequestKind, scene.namespace)
    const metadata = { name: 'which', namespace: scene.namespace }
    await requests.create({ apiVersion: 'velero.io/v1', kind: 'ServerStatusRequest', metadata, spec: {} })
    const answered = await waitUntil(
      async () => {
        const request = await requests.get('which')
        return request.status?.phase === 'Processed' ? request : undefined
      },
      { timeoutMs: 60_000, failure: () => new Error('no answer') },
    )
    const plugins = (answered.status?.plugins ?? []).map(({ kind, name }) => `${kind} ${name}`)
    for (const known of [
      'BackupItemAction velero.io/pod',
      'ObjectStore velero.io/aws',
      'BackupItemAction example.com/seen',
      'BackupItemAction example.com/hangs',
      'ObjectStore example.lateen.dev/folder',
    ]) {
      assert.ok(plugins.includes(known), `${known} is not in ${plugins.join(', ')}`)
    }
    assert.equal(new Set(plugins).size, plugins.length)
  })

  it('lists them to velero, too', { skip: withoutVelero }, async () => {
    const env = { KUBECONFIG: scene.cluster.kubeconfigPath, HOME: folder.notes }
    const args = ['plugin', 'get', '--timeout=60s', '--namespace', scene.namespace]
    const { stdout } = await promisify(execFile)(await tool('velero'), args, { env })
    for (const line of [/^velero.io\/aws +ObjectStore$/m, /^example.com\/seen +BackupItemAction$/m]) {
      assert.match(stdout, line)
    }
  })

  it('keeps backups in the store of a program, and ends the program each time', async () => {
    await scene.locations.create('folder', {
      provider: 'example.lateen.dev/folder',
      objectStorage: { bucket: 'backups' },
      config: { path: path.join(folder.notes, 'buckets') },
    })
    await scene.locations.available('folder')
    const backup = await scene.backups.take('elsewhere', {
      includedNamespaces: [scene.data],
      storageLocation: 'folder',
    })
    assert.equal(backup.status?.phase, 'Completed')
    const files = await readdir(path.join(folder.notes, 'buckets/backups/backups/elsewhere'))
    assert.ok(files.includes('velero-backup.json'), files.join(', '))
    await scene.restores.create('back', {
      backupName: 'elsewhere',
      namespaceMapping: { [scene.data]: `${scene.data}-2` },
    })
    const restore = await scene.restores.ended('back')
    assert.equal(restore.status?.phase, 'Completed')
    await scene.locations.delete('folder')
  })

  it('ends with a program that hangs in the middle of a backup, and leaves no process', async () => {
    await configMap('hangs')
    const before = (await started()).length
    await scene.backups.create('stopped', { includedNamespaces: [scene.data] })
    await hanging(1)
    assert.equal(await server.stop(), 0)
    assert.ok((await started()).length > before)
    await untilProgramsGone()
    assert.deepEqual(await socketFoldersOf(scene.namespace), [])
  })

  it('ends the programs that a killed server left, when it is started again', async () => {
    server = await scene.start({ pluginFolder: folder.path })
    await scene.backups.create('killed', { includedNamespaces: [scene.data] })
    await hanging(2)
    await server.kill()
    assert.equal((await socketFoldersOf(scene.namespace)).length, 1)
    await using next = await scene.start({ pluginFolder: folder.path })
    const backup = await scene.backups.ended('killed')
    assert.equal(backup.status?.phase, 'Failed')
    await next.stop()
    await untilProgramsGone()
    assert.deepEqual(await socketFoldersOf(scene.namespace), [])
  })

  async function hanging(times: number): Promise<void> {
    await waitUntil(
      async () => (await folder.noted()).filter(({ what }) => what === 'hangs').length >= times || undefined,
      { timeoutMs: 60_000, failure: () => new Error('the action was not asked') },
    )
  }

  /** Folders of programs that were told of this server's namespace and are gone or left. */
  async function socketFoldersOf(namespace: string): Promise<string[]> {
    const pids = new Set((await started()).map(({ pid }) => String(pid)))
    const found: string[] = []
    for (const name of (await readdir(tmpdir())).filter(each => each.startsWith('lateen-plugins-'))) {
      for (const program of await readdir(path.join(tmpdir(), name)).catch(() => [])) {
        const pid = await readFile(path.join(tmpdir(), name, program, 'pid'), 'utf8').catch(() => '')
        if (pids.has(pid)) found.push(`${namespace} ${name}/${program}`)
      }
    }
    return found
  }
})
