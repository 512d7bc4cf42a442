import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createKubeClient, type KubeClient, type KubeObject, loadKubeConfig } from '@lateen/kube'
import {
  noBackedUpVolumes,
  noVolumeRestore,
  type SnapshotRestores,
} from '../../packages/server/src/restore/volumes/volume-restore.ts'
import type { NativeSnapshot } from '../../packages/server/src/volumes/volume-backup.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type ArchivedObject, archiveOf, restoreArchive } from './restore-harness.ts'

const given = await givenCluster()
const source = 'restore-volumes'
const target = 'restore-volumes-new'

function volume(name: string, spec: object = {}): ArchivedObject {
  const object = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `restore-${name}`, annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName: 'by-hand',
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: `/tmp/restore-${name}` },
      claimRef: { kind: 'PersistentVolumeClaim', namespace: source, name, uid: 'old', resourceVersion: '7' },
      ...spec,
    },
    status: { phase: 'Bound' },
  }
  return { plural: 'persistentvolumes', object }
}

function claim(name: string): ArchivedObject {
  const object = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: source, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'by-hand',
      volumeName: `restore-${name}`,
      resources: { requests: { storage: '1Gi' } },
    },
    status: { phase: 'Bound' },
  }
  return { plural: 'persistentvolumeclaims', object }
}

function snapshotOf(name: string): NativeSnapshot {
  const spec = {
    backupName: 'test',
    backupUID: 'u',
    location: 'default',
    persistentVolumeName: `restore-${name}`,
    providerVolumeID: 'vol-1',
    volumeType: 'ssd',
  }
  return { spec, status: { phase: 'Completed', providerSnapshotID: 'snap-1' } }
}

interface Bindable extends KubeObject {
  spec: { volumeName?: string; claimRef?: { namespace?: string; name?: string; uid?: string } }
  status?: { phase?: string }
}

describe('Volumes in a restore', { skip: given.skip }, () => {
  let client: KubeClient
  const get = async (...args: string[]): Promise<Bindable> =>
    JSON.parse(await given.cluster.kubectl(['get', '-o', 'json', ...args]))
  const removeAll = async () => {
    const { kubectl } = given.cluster
    await kubectl(['delete', 'ns', source, target, '--ignore-not-found'])
    const { items } = JSON.parse(await kubectl(['get', 'pv', '-o', 'json'])) as { items: Bindable[] }
    // Other tests have volumes in this cluster, too, whose names begin alike.
    const names = ['kept', 'lost', 'snap', 'unable'].map(name => `restore-${name}`)
    const isOurs = ({ metadata, spec }: Bindable) =>
      names.includes(metadata.name ?? '') || [source, target].includes(spec.claimRef?.namespace ?? '')
    const ours = items.filter(isOurs).map(({ metadata }) => metadata.name ?? '')
    if (ours.length > 0) await kubectl(['delete', 'pv', '--ignore-not-found', ...ours])
  }

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await removeAll()
  })

  after(async () => {
    await removeAll()
    await client[Symbol.asyncDispose]()
  })

  it('that were retained come back as they were, bound to the claim in its new namespace', async () => {
    const { outcome } = await restoreArchive({
      client,
      archive: archiveOf(volume('kept'), claim('kept')),
      spec: { namespaceMapping: { [source]: target } },
    })
    assert.deepEqual(outcome.results, { errors: {}, warnings: {} })
    await given.cluster.kubectl([
      'wait',
      '-n',
      target,
      'pvc/kept',
      '--for=jsonpath={.status.phase}=Bound',
      '--timeout=180s',
    ])
    const { spec } = await get('pv', 'restore-kept')
    assert.equal(spec.claimRef?.namespace, target)
    assert.deepEqual(outcome.restoredClaims, [
      {
        namespace: target,
        name: 'kept',
        sourceNamespace: source,
        volumeName: 'restore-kept',
        provisioned: false,
      },
    ])
  })

  it('that were deleted with their claims and have no data are provisioned anew, with a warning', async () => {
    const { outcome, items } = await restoreArchive({
      client,
      archive: archiveOf(volume('lost', { persistentVolumeReclaimPolicy: 'Delete' }), claim('lost')),
    })
    assert.equal(items.get('persistentvolumes restore-lost')?.reason, 'its claim gets a new volume')
    assert.match(
      outcome.results.warnings.cluster?.join() ?? '',
      /^persistentvolumes\/restore-lost: the data of this volume are in no snapshot of the backup: its claim restore-volumes\/lost gets a new, empty one;/,
    )
    assert.equal((await get('pvc', 'lost', '-n', source)).spec.volumeName, undefined)
    assert.equal(outcome.restoredClaims[0]?.provisioned, true)
  })

  it('with a snapshot are made from it, under another name where theirs is taken by the namespace they come from', async () => {
    const snapshots: SnapshotRestores = {
      async restore({ volume: made, snapshot }) {
        assert.equal(snapshot.status.providerSnapshotID, 'snap-1')
        const nativeSnapshotInfo = { snapshotHandle: 'snap-1' }
        const pvName = made.metadata.name ?? ''
        const volumeInfo = {
          pvName,
          restoreMethod: 'NativeSnapshot',
          snapshotDataMoved: false,
          nativeSnapshotInfo,
        } as const
        return { volume: made, volumeInfo }
      },
    }
    const archive = archiveOf(volume('snap'), claim('snap'))
    const ports = { volumes: { ...noVolumeRestore, snapshots } }
    const request = { volumes: { ...noBackedUpVolumes, snapshots: [snapshotOf('snap')] } }
    const first = await restoreArchive({ client, archive, ports, request })
    assert.deepEqual(first.outcome.results, { errors: {}, warnings: {} })
    assert.equal((await get('pv', 'restore-snap')).spec.claimRef?.namespace, source)
    const spec = { namespaceMapping: { [source]: target } }
    const second = await restoreArchive({ client, archive, ports, request, spec, name: 'clone' })
    assert.deepEqual(second.outcome.results, { errors: {}, warnings: {} })
    const { spec: cloned } = await get('pvc', 'snap', '-n', target)
    assert.match(cloned.volumeName ?? '', /^velero-clone-/)
    const clone = await get('pv', cloned.volumeName ?? '')
    assert.equal(clone.metadata.annotations?.['velero.io/original-pv-name'], 'restore-snap')
    assert.equal(second.outcome.volumeInfo[0]?.pvName, cloned.volumeName)
  })

  it('with a snapshot that this server cannot restore are errors that say so', async () => {
    const archive = archiveOf(volume('unable'), claim('unable'))
    const request = { volumes: { ...noBackedUpVolumes, snapshots: [snapshotOf('unable')] } }
    const { outcome, items } = await restoreArchive({ client, archive, request })
    assert.match(
      outcome.results.errors.cluster?.join() ?? '',
      /^error executing PVAction for persistentvolumes\/restore-unable: .*not available/,
    )
    assert.equal(items.get('persistentvolumes restore-unable')?.action, 'failed')
    const off = await restoreArchive({ client, archive, request, spec: { restorePVs: false } })
    assert.equal(off.items.get('persistentvolumes restore-unable')?.action, 'created')
  })
})
