import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { finalizerNames } from '@lateen/api'
import { serverDefaults } from '@lateen/server'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { archiveOf, configMap, type Stored, stored } from './restore-harness.ts'
import { publishBackup } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const unique = `restore-finalize-${process.pid}`
const finalizer = finalizerNames.restoreExternalResources

/** No provisioner knows it: whoever wants its volumes makes them by hand. */
const storageClassName = unique

function claimIn(namespace: string, name: string): Stored {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace, name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName,
      volumeName: `${unique}-old-${name}`,
    },
  }
}

function volume(name: string, more: object = {}): Stored {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, labels: { made: 'by-hand' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName,
      persistentVolumeReclaimPolicy: 'Delete',
      hostPath: { path: '/nowhere' },
      ...more,
    },
  }
}

describe('the end of a restore', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  const made: string[] = []
  const kubectl = (args: string[], stdin?: object) =>
    given.cluster.kubectl(args, stdin && { stdin: JSON.stringify(stdin) })

  before(async () => {
    scene = await openServerScene(given.cluster, 'restore-finalize')
    server = await scene.start()
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    if (made.length > 0) await kubectl(['delete', 'pv', '--wait=false', '--ignore-not-found', ...made])
  })

  /** A backup of a claim whose data are in files. */
  async function publishClaim(name: string): Promise<void> {
    const pvName = `${unique}-old-${name}`
    const info = {
      ...{ pvcName: name, pvcNamespace: 'source', pvName, backupMethod: 'PodVolumeBackup', skipped: false },
      pvInfo: { reclaimPolicy: 'Retain', labels: { tier: 'gold' } },
    }
    const archive = archiveOf(
      stored(volume(pvName, { claimRef: { namespace: 'source', name } })),
      stored(claimIn('source', name)),
    )
    await publishBackup(scene, { name, archive, volumeInfo: [info] })
  }

  const into = (backupName: string) => ({ backupName, namespaceMapping: { source: scene.data } })

  const filesOf = async (restore: string) =>
    (await scene.bucket.keys()).filter(key => key.startsWith(`restores/${restore}/`))

  it('waits for new volumes and gives them what the old ones had, also after a server was killed', async () => {
    await publishClaim('bound')
    await scene.restores.create('bound', into('bound'))
    const { metadata } = await scene.restores.until('bound', ({ status }) => status?.phase === 'Finalizing')
    assert.deepEqual(metadata.finalizers, [finalizer])
    await server.kill()
    server = await scene.start()
    const name = `${unique}-new`
    made.push(name)
    await kubectl(['create', '-f', '-'], volume(name))
    const { status } = await scene.restores.ended('bound')
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.ok(status?.completionTimestamp)
    const { metadata: after, spec } = JSON.parse(await kubectl(['get', 'pv', name, '-o', 'json']))
    assert.deepEqual(after.labels, { tier: 'gold' })
    assert.equal(spec.persistentVolumeReclaimPolicy, 'Retain')
  })

  it('tells of volumes that are not there in time', async () => {
    await server.stop()
    const backupDefaults = { ...serverDefaults.backupDefaults, resourceTimeout: 2_000 }
    server = await scene.start({ backupDefaults })
    await publishClaim('unbound')
    const { status } = await scene.restores.run('unbound', into('unbound'))
    assert.equal(status?.phase, 'PartiallyFailed')
    assert.equal(status?.errors, 1)
    const { errors } = await scene.bucket.restoreResults('unbound')
    assert.match(
      errors.namespaces?.[scene.data]?.[0] ?? '',
      /fail to patch dynamic PV, err: after 2s the restore waits no longer until the claim is bound, PVC: \S+\/unbound, PV: \S+-old-unbound; .*Retain.* by hand/,
    )
  })

  it('takes the files of a deleted restore along', async () => {
    assert.equal((await filesOf('unbound')).length, 5)
    await scene.restores.delete('unbound')
    await scene.restores.gone('unbound')
    assert.deepEqual(await filesOf('unbound'), [])
    assert.equal((await filesOf('bound')).length, 5)
  })

  it('lets a deleted restore go when its backup, its location or its bucket has gone, or does not answer', async () => {
    const archive = archiveOf(stored(configMap({ namespace: 'source', name: 'plain' })))
    const other = {
      default: false,
      provider: 'aws',
      config: { region: 'us-east-1', s3ForcePathStyle: 'true' },
    }
    const { s3 } = given.cluster
    const at = (bucket: string, s3Url: string) => ({
      ...other,
      objectStorage: { bucket, prefix: scene.namespace },
      config: { ...other.config, s3Url },
      credential: { name: 'cloud', key: 'cloud' },
    })
    await scene.locations.create('no-bucket', at('no-such-bucket', s3.endpoint))
    await scene.locations.create('no-answer', at(s3.bucket, 'http://127.0.0.1:9'))
    const storageLocations = ['no-backup', 'no-location', 'no-bucket', 'no-answer']
    const patch = (kind: string, name: string, body: object) =>
      kubectl(['patch', kind, name, '-n', scene.namespace, '--type=merge', '-p', JSON.stringify(body)])
    for (const name of storageLocations) {
      await publishBackup(scene, { name, archive })
      assert.equal((await scene.restores.run(name, into(name))).status?.phase, 'Completed')
      if (name === 'no-backup') await scene.backups.delete(name)
      else await patch('backup', name, { spec: { storageLocation: name } })
      // The location in which it began is gone, too.
      const annotations = { 'lateen.dev/storage-location': 'no-location' }
      if (name === 'no-location') await patch('restore', name, { metadata: { annotations } })
      await scene.restores.delete(name)
      await scene.restores.gone(name)
    }
    assert.deepEqual(await filesOf('no-backup'), [])
    assert.notDeepEqual(await filesOf('no-location'), [])
    const events = await kubectl([
      'get',
      'events',
      '-n',
      scene.namespace,
      '-o',
      'jsonpath={.items[*].message}',
    ])
    assert.match(
      events,
      /restores\/no-answer\/ is left in the object store, because it could not be removed: /,
    )
  })

  it('is not rewritten by a server whose restore another one has ended', async () => {
    const stuck = `${unique}-stuck`
    await kubectl(['create', 'namespace', stuck])
    const held = configMap({ namespace: stuck, name: 'held', finalizers: ['lateen.dev/held'] })
    await kubectl(['create', '-f', '-'], held)
    await kubectl(['delete', 'namespace', stuck, '--wait=false'])
    const archive = archiveOf(stored(configMap({ namespace: 'source', name: 'late' })))
    await publishBackup(scene, { name: 'late', archive })
    await scene.restores.create('late', { backupName: 'late', namespaceMapping: { source: stuck } })
    await scene.restores.until('late', ({ status }) => status?.phase === 'InProgress')
    await scene.restores.patchStatus('late', { phase: 'Failed', failureReason: 'another server said so' })
    const freed = JSON.stringify({ metadata: { finalizers: null } })
    await kubectl(['patch', 'cm', 'held', '-n', stuck, '--type=merge', '-p', freed])
    // Its server is done with it when the next one into the same namespace has ended.
    await scene.restores.run('after', { backupName: 'late', namespaceMapping: { source: stuck } })
    const { status } = await scene.restores.get('late')
    assert.equal(status?.phase, 'Failed')
    assert.equal(status?.failureReason, 'another server said so')
    const troubles = server.log.filter(({ level, restore }) => level === 'error' && restore === 'late')
    assert.deepEqual(troubles, [])
    await kubectl(['delete', 'namespace', stuck, '--wait=false'])
  })

  it('of a restore that is deleted while it runs removes the files that it stores in the end', async () => {
    const stuck = `${unique}-deleted`
    await kubectl(['create', 'namespace', stuck])
    const held = configMap({ namespace: stuck, name: 'held', finalizers: ['lateen.dev/held'] })
    await kubectl(['create', '-f', '-'], held)
    await kubectl(['delete', 'namespace', stuck, '--wait=false'])
    await scene.restores.create('doomed', { backupName: 'late', namespaceMapping: { source: stuck } })
    await scene.restores.until('doomed', ({ status }) => status?.phase === 'InProgress')
    await scene.restores.delete('doomed')
    const freed = JSON.stringify({ metadata: { finalizers: null } })
    await kubectl(['patch', 'cm', 'held', '-n', stuck, '--type=merge', '-p', freed])
    await scene.restores.gone('doomed')
    assert.deepEqual(await filesOf('doomed'), [])
    await kubectl(['delete', 'namespace', stuck, '--wait=false'])
  })
})
