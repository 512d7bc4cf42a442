import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type DataDownload, DataDownloadKind, type Restore, RestoreKind } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { csiRestoreActions } from '../../packages/server/src/builtin-actions/csi/csi-restore-actions.ts'
import { builtInRestoreActions } from '../../packages/server/src/builtin-actions/restore/built-in-restore-actions.ts'
import { noVolumeRestore } from '../../packages/server/src/restore/volumes/volume-restore.ts'
import { createDataDownloads } from '../../packages/server/src/volumes/data-downloads.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type ArchivedObject, archiveOf, requestOf, restoreArchive } from './restore-harness.ts'
import { prepareCluster } from './storage-location-harness.ts'

/** Without a node, and without the definitions of snapshots. */
const given = await givenCluster()
const namespace = 'moved-claims'
const source = `${namespace}-source`
const target = `${namespace}-target`

function claim(name: string): ArchivedObject {
  const object = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: source,
      uid: `00000000-0000-4000-8000-${name.padEnd(12, '0')}`,
      annotations: { 'velero.io/data-upload-name': `elsewhere/moved-${name}` },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'none',
      volumeName: `pv-${name}`,
      resources: { requests: { storage: '1Gi' } },
    },
    status: { phase: 'Bound' },
  }
  return { plural: 'persistentvolumeclaims', object }
}

function volume(name: string): ArchivedObject {
  const object = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pv-${name}` },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName: 'none',
      persistentVolumeReclaimPolicy: 'Delete',
      csi: { driver: 'gone.example.com', volumeHandle: name },
      claimRef: { kind: 'PersistentVolumeClaim', namespace: source, name, uid: 'old' },
    },
    status: { phase: 'Bound' },
  }
  return { plural: 'persistentvolumes', object }
}

function upload(name: string, status: object): ArchivedObject {
  const object = {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataUpload',
    metadata: { name: `moved-${name}`, namespace: 'elsewhere', labels: { 'velero.io/backup-name': 'test' } },
    spec: {
      snapshotType: 'CSI',
      sourceNamespace: source,
      sourcePVC: name,
      backupStorageLocation: 'where-it-was',
      operationTimeout: '10m0s',
    },
    status,
  }
  return { plural: 'datauploads', object }
}

const done = {
  phase: 'Completed',
  snapshotID: 'k1',
  nodeOS: 'linux',
  progress: { totalBytes: 7, bytesDone: 7 },
}

describe('claims whose content was moved', { skip: given.skip, concurrency: false }, () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const create = (object: object) => kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) })
  let client: KubeClient
  /** Owns the downloads, which go without it. */
  let owner: Restore

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await prepareCluster(given.cluster, namespace)
    await create({
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'test', namespace },
      spec: { storageLocation: 'here', csiSnapshotTimeout: '3m0s' },
    })
    owner = await client.resource(RestoreKind, namespace).create({
      apiVersion: 'velero.io/v1',
      kind: 'Restore',
      metadata: { name: 'again', namespace },
      spec: { backupName: 'test', namespaceMapping: { [source]: target } },
    })
  })
  after(async () => {
    await client[Symbol.asyncDispose]()
    await kubectl(['delete', 'namespace', namespace, source, target, '--wait=false', '--ignore-not-found'])
  })

  function restore(...objects: ArchivedObject[]) {
    const { restore: _, ...request } = requestOf({ client, archive: '' })
    const downloads = createDataDownloads({ client })
    return restoreArchive({
      client,
      archive: archiveOf(...objects),
      request: {
        ...request,
        restore: owner,
        volumes: {
          ...request.volumes,
          volumeInfo: objects
            .filter(({ plural }) => plural === 'persistentvolumes')
            .map(({ object }) => ({
              pvName: (object as { metadata: { name: string } }).metadata.name,
              backupMethod: 'CSISnapshot' as const,
              ...{ snapshotDataMoved: true, preserveLocalSnapshot: false, skipped: false },
            })),
        },
      },
      ports: {
        actions: builtInRestoreActions({
          ...{ client, namespace },
          others: csiRestoreActions({ client, downloads }),
        }),
        volumes: { ...noVolumeRestore, csi: { available: true } },
      },
    })
  }

  const downloadsNow = async (): Promise<DataDownload[]> => {
    const found: DataDownload[] = []
    for await (const each of client.resource(DataDownloadKind, namespace).list()) found.push(each)
    return found
  }

  it('are an error where nobody could fill their volumes', async () => {
    const { outcome } = await restore(upload('data', done), volume('data'), claim('data'))
    assert.match(JSON.stringify(outcome.results), /there are no node agents in the namespace moved-claims/)
    assert.deepEqual(await downloadsNow(), [])
  })

  it('wait for a download each, also where the cluster knows no snapshots', async () => {
    const template = {
      metadata: { labels: { role: 'node-agent' } },
      spec: { containers: [{ name: 'agent', image: 'none' }] },
    }
    await create({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'node-agent', namespace },
      spec: { selector: { matchLabels: { role: 'node-agent' } }, template },
    })
    const { outcome, items } = await restore(upload('data', done), volume('data'), claim('data'))
    assert.equal(outcome.errors, 0, JSON.stringify(outcome.results))
    assert.equal(items.get(`datauploads.velero.io elsewhere/moved-data`)?.action, 'skipped')
    const [download, ...more] = await downloadsNow()
    assert.deepEqual(more, [])
    assert.deepEqual(download?.spec, {
      targetVolume: { namespace: target, pvc: 'data', pv: '' },
      backupStorageLocation: 'here',
      snapshotID: 'k1',
      snapshotSize: 7,
      sourceNamespace: source,
      operationTimeout: '3m0s',
      nodeOS: 'linux',
    })
    const operations = outcome.operations.map(({ spec }) => spec.operationID)
    assert.deepEqual(operations, [download?.metadata.labels?.['velero.io/async-operation-id']])
    const { spec } = JSON.parse(await kubectl(['-n', target, 'get', 'pvc', 'data', '-o', 'json']))
    assert.equal(spec.volumeName, undefined)
    assert.match(
      spec.selector.matchLabels['velero.io/dynamic-pv-restore'],
      new RegExp(`^${target}\\.data\\.`),
    )
    assert.deepEqual(
      outcome.volumeInfo.map(({ pvcName, snapshotDataMoved, restoreMethod }) => ({
        ...{ pvcName, snapshotDataMoved, restoreMethod },
      })),
      [{ pvcName: 'data', snapshotDataMoved: true, restoreMethod: 'CSISnapshot' }],
    )
  })

  it('have one download, however often they are restored', async () => {
    await kubectl(['-n', target, 'delete', 'pvc', 'data'])
    const { outcome } = await restore(upload('data', done), volume('data'), claim('data'))
    assert.equal(outcome.errors, 0, JSON.stringify(outcome.results))
    assert.equal((await downloadsNow()).length, 1)
  })

  it('are not restored when their content is not in the backup', async () => {
    const failed = { phase: 'Failed', message: 'it broke' }
    const { outcome, items } = await restore(upload('lost', failed), volume('lost'), claim('lost'))
    assert.equal(items.get(`persistentvolumeclaims ${target}/lost`)?.action, 'failed')
    assert.match(JSON.stringify(outcome.results), /its DataUpload moved-lost is Failed/)
  })
})
