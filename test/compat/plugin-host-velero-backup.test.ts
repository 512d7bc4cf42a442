import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Backup, Restore } from '@lateen/api'
import { tool } from '../../tools/binaries/tool.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import type { Unpacked } from '../cluster/backup-bucket.ts'
import { openServerScene, type ServerScene } from '../cluster/backup-server-scene.ts'
import { veleroMissing } from './backup-pair.ts'
import { sceneNamespaces, setScene } from './backup-scene.ts'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { deploymentOfServer } from './plugin-scene.ts'
import { withoutEmpty } from './without-empty.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true, own: true })
const skip = missing || given.skip

const [source] = sceneNamespaces

/** A backup and a restore of it into a namespace of its own, by one server. */
interface Round {
  backup: Backup
  archive: Unpacked
  restore: Restore
  restored: ReadonlyMap<string, unknown>
  /** Of the backup. */
  log: string
}

describe("a server with its own actions and one with Velero's, in a program", {
  skip,
  concurrency: false,
}, () => {
  let folder: PluginFolder
  let scene: ServerScene
  let own: Round
  let hosted: Round
  const all = new AsyncDisposableStack()

  before(async () => {
    const { cluster } = given
    folder = all.use(await makePluginFolder())
    const env = { KUBECONFIG: cluster.kubeconfigPath }
    await folder.launcher('velero', { command: [await tool('velero'), 'run-plugins'], env })
    await setScene(cluster)
    scene = all.use(await openServerScene(cluster, 'actions'))
    const { metadata, ...deployment } = deploymentOfServer
    const moved = { ...deployment, metadata: { ...metadata, namespace: scene.namespace } }
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(moved) })
    own = await round('own', {})
    hosted = await round('hosted', { pluginFolder: folder.path, preferExternalPlugins: true })
  })
  after(() => all.disposeAsync())

  async function round(name: string, options: Parameters<ServerScene['start']>[0]): Promise<Round> {
    await using server = await scene.start(options)
    const backup = await scene.backups.take(name, { includedNamespaces: [...sceneNamespaces] })
    const target = `restored-${name}`
    // Whether the cluster or the restore makes a namespace's own account and certificate first is a matter of luck.
    await ensureNamespace(given.cluster, target)
    await given.cluster.kubectl([
      'wait',
      '-n',
      target,
      '--for=create',
      'configmap/kube-root-ca.crt',
      '--timeout=120s',
    ])
    const restore = await scene.restores.run(name, {
      backupName: name,
      includedNamespaces: [source],
      namespaceMapping: { [source]: target },
    })
    const archive = await scene.bucket.unpack(name)
    const restored = await contentsOf(target, name)
    const log = gunzipSync(await scene.bucket.read(`backups/${name}/${name}-logs.gz`)).toString()
    assert.equal(await server.stop(), 0)
    return { backup, archive, restore, restored, log }
  }

  async function contentsOf(namespace: string, name: string): Promise<Map<string, unknown>> {
    const kinds =
      'configmaps,secrets,services,deployments,statefulsets,jobs,serviceaccounts,roles,rolebindings,pvc,pods'
    const text = await given.cluster.kubectl(['get', kinds, '-n', namespace, '-o', 'json'])
    const { items } = JSON.parse(text.replaceAll(namespace, 'there')) as { items: ItemInCluster[] }
    return new Map(items.map(item => [`${item.kind} ${item.metadata.name}`, comparable(item, name)]))
  }

  it('say in the log of the backup what the program says', () => {
    const said = (log: string) => log.split('\n').filter(line => /pluginName"?[=:]"?velero/.test(line))
    assert.deepEqual(said(own.log), [])
    assert.ok(said(hosted.log).length > 0, hosted.log)
  })

  it('store the same', () => {
    assert.deepEqual(own.backup.status?.phase, 'Completed')
    assert.deepEqual(hosted.backup.status?.phase, 'Completed')
    assert.ok(own.archive.size > 100, `${own.archive.size} entries`)
    assert.deepEqual([...hosted.archive.keys()].sort(), [...own.archive.keys()].sort())
    for (const [path, object] of own.archive) {
      assert.deepEqual(withoutEmpty(hosted.archive.get(path)), withoutEmpty(object), path)
    }
  })

  it('restore the same', () => {
    assert.deepEqual(own.restore.status?.phase, 'Completed', JSON.stringify(own.restore.status))
    assert.deepEqual(hosted.restore.status?.phase, 'Completed', JSON.stringify(hosted.restore.status))
    assert.ok(own.restored.size > 20, `${own.restored.size} objects`)
    assert.deepEqual([...hosted.restored.keys()].sort(), [...own.restored.keys()].sort())
    for (const [key, object] of own.restored) assert.deepEqual(hosted.restored.get(key), object, key)
  })
})

interface ItemInCluster {
  kind: string
  metadata: Record<string, unknown> & { name: string; labels?: Record<string, string> }
  spec?: Record<string, unknown>
  status?: unknown
}

/** Without what a cluster chooses for each object anew, and what names the backup and the restore. */
function comparable(item: ItemInCluster, name: string): unknown {
  const {
    uid: _,
    resourceVersion: __,
    creationTimestamp: ___,
    managedFields: ____,
    ...metadata
  } = item.metadata
  const { status: _____, ...rest } = item
  const text = JSON.stringify({ ...rest, metadata }).replaceAll(`"${name}"`, '"the-name"')
  const chosen = /^(clusterIPs?|nodePort|controller-uid|batch\.kubernetes\.io\/controller-uid)$/
  return withoutEmpty(JSON.parse(text, (key, value) => (chosen.test(key) ? undefined : value)))
}
