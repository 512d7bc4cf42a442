import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Backup, Restore } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { tool } from '../../tools/binaries/tool.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { packPlugin } from '../../tools/pack-plugin/pack-plugin.ts'
import { startVeleroServer, type VeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { ended } from '../cluster/cli-runner.ts'
import { Restores } from '../cluster/restores.ts'
import { Locations, prepareCluster } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'
import { startPluginProcess } from './plugin-process.ts'
import { deploymentOfServer, oddObjects, oddPlace, shop, shopObjects } from './plugin-scene.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true, own: true })
const skip = missing || given.skip
const namespace = 'velero'
const sources = path.join(import.meta.dirname, '../../examples')

describe('the packed examples under a real Velero server', { skip, concurrency: false }, () => {
  let client: KubeClient
  let backups: Backups
  let restores: Restores
  let bucket: BackupBucket
  let velero: VeleroServer
  let folder = ''
  const plugins: string[] = []
  const scene = new AsyncDisposableStack()

  const at = (...names: string[]) => path.join(folder, ...names)

  before(async () => {
    const { cluster } = given
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-examples-'))
    scene.defer(() => rm(folder, { recursive: true, force: true }))
    const examples = (await readdir(sources)).filter(file => file.endsWith('.ts'))
    const odd = path.join(import.meta.dirname, 'odd-plugin.ts')
    for (const source of [odd, ...examples.map(file => path.join(sources, file))]) {
      const target = at('packed', path.basename(source, '.ts'))
      await packPlugin({ source, target })
      plugins.push(target)
    }
    for (const name of ['volume', 'things/shelf', 'snapshots']) await mkdir(at(name), { recursive: true })
    await writeFile(at('volume', 'page'), 'what is on the volume')
    await prepareCluster(cluster, namespace)
    client = scene.use(
      await createKubeClient({ config: await loadKubeConfig({ path: cluster.kubeconfigPath }) }),
    )
    backups = new Backups(client, namespace)
    restores = new Restores(client, namespace)
    bucket = scene.use(new BackupBucket(cluster, namespace))
    await createLocation({ cluster, client, namespace }, { prefix: namespace, secret: false })
    const shelf = { objectStorage: { bucket: 'shelf' }, config: { path: at('things') } }
    await new Locations(client, namespace).create('shelf', {
      provider: 'example.lateen.dev/folder',
      ...shelf,
    })
    const places = { volume: at('volume'), snapshots: folder, namespace }
    const objects = [...shopObjects(places), ...oddObjects(), deploymentOfServer]
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    await ensureNamespace(cluster, shop)
    await cluster.kubectl(['apply', '-f', '-'], { stdin })
    // Only volumes of bound claims are snapshotted.
    const bound = ['--for=jsonpath={.status.phase}=Bound', '--timeout=120s']
    await cluster.kubectl(['wait', 'pvc/shelf', '--namespace', shop, ...bound])
    const flags = ['--client-qps=1000', '--client-burst=2000', '--item-operation-sync-frequency=1s']
    velero = scene.use(await startVeleroServer({ cluster, namespace, plugins, flags }))
  })

  after(() => scene.disposeAsync())

  async function cli(...args: string[]): Promise<string> {
    const env = { PATH: '', HOME: folder, TZ: 'UTC', KUBECONFIG: given.cluster.kubeconfigPath }
    const end = await ended(await tool('velero'), ['--namespace', namespace, ...args], { stdin: '', env })
    assert.equal(end.status, 0, `velero ${args.join(' ')}: ${end.stderr}`)
    return end.stdout
  }

  async function endOfRestore(name: string): Promise<Restore> {
    try {
      return await restores.ended(name)
    } catch (cause) {
      throw new Error(`restore ${name} does not end:\n${velero.log.slice(-40).join('\n')}`, { cause })
    }
  }

  async function configMap(name: string, where = shop): Promise<Record<string, string>> {
    const text = await given.cluster.kubectl(['get', 'configmap', name, '-n', where, '-o', 'json'])
    return JSON.parse(text).metadata.annotations ?? {}
  }

  it('are found and registered', async () => {
    const lines = (await cli('plugin', 'get', '--timeout=60s'))
      .split('\n')
      .map(line => line.trim().split(/\s+/).join(' '))
    for (const expected of [
      'example.lateen.dev/note-backup BackupItemAction',
      'example.lateen.dev/copy-content BackupItemActionV2',
      'example.lateen.dev/with-environment BackupItemActionV2',
      'example.lateen.dev/with-environment ItemBlockAction',
      'example.lateen.dev/belong-together ItemBlockAction',
      'example.lateen.dev/note-restore RestoreItemAction',
      'example.lateen.dev/restore-content RestoreItemActionV2',
      'example.lateen.dev/remove-copy DeleteItemAction',
      'example.lateen.dev/folder ObjectStore',
      'example.lateen.dev/folder VolumeSnapshotter',
    ]) {
      assert.ok(lines.includes(expected), `${expected} is not in\n${lines.join('\n')}`)
    }
    for (const name of ['default', 'shelf']) await new Locations(client, namespace).available(name)
  })

  it('start an operation that a backup waits for, and whose progress Velero shows', async () => {
    await backups.create('first', { includedNamespaces: [shop] })
    await backups.until('first', ({ status }) => status?.phase === 'WaitingForPluginOperations')
    const details = await waitUntil(
      async () => {
        const text = await cli('backup', 'describe', 'first', '--details', '--colorized=false')
        return /Progress:\s+([1-9]|[123]\d) of 40 complete \(pages\)/.test(text) ? text : undefined
      },
      { timeoutMs: 120_000, failure: () => new Error('velero shows no progress'), everyMs: 500 },
    )
    assert.match(details, /Operation for configmaps shop\/copied:/)
    assert.match(details, /Backup Item Action Plugin:\s+example\.lateen\.dev\/copy-content/)
    assert.match(details, /Progress description:\s+copying/)
  })

  it('bring the backup to its end without errors', async () => {
    const { status } = await backups.ended('first')
    assert.equal(status?.phase, 'Completed', describeFailure(status))
    assert.deepEqual(
      [status?.backupItemOperationsAttempted, status?.backupItemOperationsCompleted, status?.errors ?? 0],
      [1, 1, 0],
    )
    assert.equal(status?.volumeSnapshotsCompleted, 1)
  })

  it('change what is stored, and add to it', async () => {
    const stored = await bucket.unpack('first')
    const annotations = (name: string) =>
      stored.get(`resources/configmaps/namespaces/${shop}/${name}.json`)?.metadata.annotations ?? {}
    assert.equal(annotations('noted')['example.lateen.dev/backup'], 'first')
    assert.equal(annotations('copied')['example.lateen.dev/copied'], 'complete')
    assert.ok(stored.has(`resources/secrets/namespaces/${shop}/noted.json`))
  })

  it('write to the log of the backup, with their own places in the sources', async () => {
    const log = await cli('backup', 'logs', 'first')
    assert.match(
      log,
      /msg="Noting the backup".*logSource="?\S*:\d+.*name=noted.*pluginName=backup-item-action/,
    )
    assert.match(log, /msg="These belong together".*name=left.*related=right/)
    assert.doesNotMatch(log, /level=(error|warning)/)
  })

  it('take part in restoring: objects changed and skipped, others waited for, volumes made from snapshots', async () => {
    await given.cluster.kubectl(['delete', 'namespace', shop, '--timeout=180s'])
    await given.cluster.kubectl(['delete', 'pv', 'shelf-volume', '--timeout=180s'])
    await restores.create('first', { backupName: 'first', restorePVs: true })
    const restored = await endOfRestore('first')
    assert.equal(restored.status?.phase, 'Completed', JSON.stringify(restored.status))
    assert.equal(restored.status?.restoreItemOperationsCompleted, 1)
    assert.equal((await configMap('noted'))['example.lateen.dev/restore'], 'first')
    assert.equal((await configMap('copied'))['example.lateen.dev/copied'], 'complete')
    const once = await given.cluster.kubectl(['get', 'configmap', 'once', '-n', shop, '--ignore-not-found'])
    assert.equal(once, '')
    const where = ['get', 'pv', 'shelf-volume', '-o', 'jsonpath={.spec.hostPath.path}']
    const volume = await given.cluster.kubectl(where)
    assert.notEqual(volume, at('volume'))
    assert.equal(await readFile(path.join(volume, 'page'), 'utf8'), 'what is on the volume')
  })

  it('keep a backup in a store of their own, from where it is restored', async () => {
    const labelSelector = {
      matchExpressions: [{ key: 'example.lateen.dev/copied', operator: 'DoesNotExist' as const }],
    }
    const spec = { includedNamespaces: [shop], storageLocation: 'shelf', labelSelector }
    const { status } = await backups.take('second', spec)
    assert.equal(status?.phase, 'Completed', describeFailure(status))
    const files = await readdir(at('things/shelf/backups/second'))
    assert.ok(files.includes('second.tar.gz') && files.includes('velero-backup.json'), files.join())
    await restores.create('second', { backupName: 'second', namespaceMapping: { [shop]: 'other-shop' } })
    const end = await endOfRestore('second')
    assert.equal(end.status?.phase, 'Completed', JSON.stringify(end.status))
    assert.equal((await configMap('left', 'other-shop'))['example.lateen.dev/restore'], 'second')
  })

  it('that end in the middle lose the object they were called for, and are started again', async () => {
    const { status } = await backups.take('odd', { includedNamespaces: [oddPlace] })
    assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
    assert.ok((status?.warnings ?? 0) >= 1 && (status?.errors ?? 0) >= 3, JSON.stringify(status))
    const stored = [...(await bucket.unpack('odd')).keys()].map(entry => path.basename(entry, '.json'))
    for (const lost of ['2-exits', '3-throws-later', '4-rejects-later'])
      assert.ok(!stored.includes(lost), lost)
    for (const round of [0, 1]) assert.ok(stored.includes(`${round}-fine-99`), `${round}: ${stored.join()}`)
    // Velero may call a program many times before it notices that it has ended. What follows on 2-exits, and on 3-throws-later:
    for (const later of [/^[23]-fine-/, /^4-fine-/])
      assert.ok(
        stored.some(name => later.test(name)),
        `${later}: ${stored.join()}`,
      )
    const log = await cli('backup', 'logs', 'odd')
    assert.match(log, /level=warning msg="Odd fields".*error=broken.*name=5 namespace="?null/)
    assert.match(log, /level=error msg="The plugin program ends.*error="nobody catches this"/)
    assert.match(log, /msg="a line for people"/)
  })

  it('are told when a backup is deleted, and remove what they kept of it', async () => {
    for (const name of ['first', 'second', 'odd']) await cli('backup', 'delete', name, '--confirm')
    await waitUntil(async () => (await backups.list()).length === 0, {
      timeoutMs: 120_000,
      failure: () => new Error(`backups stay:\n${velero.log.slice(-20).join('\n')}`),
    })
    const removed = velero.log.filter(line => /Removing the copy of a content/.test(line))
    assert.ok(
      removed.some(line => /name=copied/.test(line) && /backupName=first/.test(line)),
      removed.join('\n'),
    )
    assert.deepEqual(await readdir(at('snapshots')), [])
    const kept = await readdir(at('things/shelf'), { recursive: true, withFileTypes: true })
    const files = kept.filter(entry => entry.isFile()).map(entry => path.join(entry.parentPath, entry.name))
    assert.deepEqual(files, [])
  })

  it('end when they are told to', async () => {
    for (const command of plugins) {
      await using program = await startPluginProcess({ command })
      assert.equal(await program.shutdown(), 0, command)
    }
    // Velero gives them two seconds. One that does not care to end would be named for each of its many sessions.
    const late = velero.log.filter(line => /exit gracefully/.test(line))
    assert.ok(late.length < 3, late.join('\n'))
  })

  function describeFailure(status: Backup['status']): string {
    const lines = velero.log.filter(line => /level=(error|warning)/.test(line))
    return `${JSON.stringify(status)}\n${lines.join('\n')}`
  }
})
