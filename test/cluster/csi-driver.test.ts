import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, it } from 'node:test'
import { stopCluster } from '../../tools/cluster/cluster.ts'
import { filesOf } from '../../tools/cluster/cluster-layout.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { loopDevicesBelow } from '../../tools/cluster/node/loop-devices.ts'
import { joinNamespaces } from '../../tools/cluster/node/namespaces.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { tracesOf } from '../../tools/cluster/traces.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import { setFaults } from '../csi-driver/faults.ts'

const given = await givenCluster({ node: true, csi: true, own: true })
const namespace = 'csi-driver'
const patience = '--timeout=120s'

interface Claim {
  mode?: 'Block'
  class?: string
  source?: { kind: string; name: string; apiGroup?: string }
}

interface GroupMember {
  spec: { source: { persistentVolumeClaimName: string } }
  status?: { volumeGroupSnapshotName?: string }
}

function claim(name: string, options: Claim = {}) {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, labels: options.source ? {} : { together: 'yes' } },
    spec: {
      storageClassName: options.class ?? 'csi',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '16Mi' } },
      ...(options.mode && { volumeMode: options.mode }),
      ...(options.source && { dataSource: options.source }),
    },
  }
}

const fromSnapshot = (name: string) => ({
  apiGroup: 'snapshot.storage.k8s.io',
  kind: 'VolumeSnapshot',
  name,
})

/** A pod with claims as folders `/<claim>` and as devices `/dev/<claim>`. */
function pod(name: string, { folders, devices }: { folders: string[]; devices: string[] }) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: busyboxImageName,
          imagePullPolicy: 'Never',
          command: ['sleep', 'infinity'],
          volumeMounts: folders.map(each => ({ name: each, mountPath: `/${each}` })),
          volumeDevices: devices.map(each => ({ name: each, devicePath: `/dev/${each}` })),
        },
      ],
      volumes: [...folders, ...devices].map(each => ({
        name: each,
        persistentVolumeClaim: { claimName: each },
      })),
    },
  }
}

function snapshot(name: string, claimName: string) {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name },
    spec: {
      volumeSnapshotClassName: given.cluster.csi.snapshotClass,
      source: { persistentVolumeClaimName: claimName },
    },
  }
}

describe('a cluster with the test CSI driver', { skip: given.skip, concurrency: false }, () => {
  const kubectl = (args: readonly string[], stdin = '') =>
    given.cluster.kubectl(['-n', namespace, ...args], { stdin })
  const create = (...items: object[]) =>
    kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const run = (name: string, script: string) => kubectl(['exec', name, '--', 'sh', '-c', script])
  const podReady = (name: string) => kubectl(['wait', '--for=condition=Ready', `pod/${name}`, patience])
  const snapshotReady = (...names: string[]) =>
    kubectl(['wait', '--for=jsonpath={.status.readyToUse}=true', ...names, patience])
  const status = (path: string, object: string) =>
    kubectl(['get', object, '-o', `jsonpath={.status.${path}}`])

  before(() => ensureNamespace(given.cluster, namespace))

  it('gives pods folders and block devices, at once or when they are wanted', async () => {
    const { waitingStorageClass } = given.cluster.csi
    await create(
      claim('data'),
      claim('late', { class: waitingStorageClass }),
      claim('disk', { mode: 'Block' }),
    )
    await kubectl(['wait', '--for=jsonpath={.status.phase}=Bound', 'pvc/data', 'pvc/disk', patience])
    assert.equal(await status('phase', 'pvc/late'), 'Pending')
    await create(pod('writer', { folders: ['data', 'late'], devices: ['disk'] }))
    await podReady('writer')
    assert.equal(await status('phase', 'pvc/late'), 'Bound')
    await run(
      'writer',
      'echo first > /data/file; mkdir /data/deep; ln -s ../file /data/deep/link; chown 7:8 /data/file',
    )
    await run('writer', 'echo first > /late/file; dd if=/dev/urandom of=/dev/disk bs=1M count=16 2>/dev/null')
  })

  it('restores snapshots and clones volumes, whose writer goes on', async () => {
    const groupSnapshot = {
      apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2',
      kind: 'VolumeGroupSnapshot',
      metadata: { name: 'together' },
      spec: {
        volumeGroupSnapshotClassName: given.cluster.csi.groupSnapshotClass,
        source: { selector: { matchLabels: { together: 'yes' } } },
      },
    }
    const disk = await run('writer', 'sha256sum < /dev/disk')
    await create(snapshot('data', 'data'), snapshot('disk', 'disk'), groupSnapshot)
    await snapshotReady('volumesnapshot/data', 'volumesnapshot/disk')
    assert.equal(await status('restoreSize', 'volumesnapshot/data'), '16Mi')
    await run(
      'writer',
      'echo second > /data/file; echo second > /late/file; dd if=/dev/zero of=/dev/disk bs=1M count=16 2>/dev/null',
    )

    await create(
      claim('old-data', { source: fromSnapshot('data') }),
      claim('old-disk', { source: fromSnapshot('disk'), mode: 'Block' }),
      claim('clone', { source: { kind: 'PersistentVolumeClaim', name: 'late' }, class: 'csi-waiting' }),
      pod('reader', { folders: ['old-data', 'clone'], devices: ['old-disk'] }),
    )
    await podReady('reader')
    assert.equal(await run('reader', 'cat /old-data/deep/link'), 'first\n')
    assert.equal(await run('reader', 'stat -c %u:%g /old-data/file'), '7:8\n')
    assert.equal(await run('reader', 'sha256sum < /dev/old-disk'), disk)
    assert.equal(await run('reader', 'cat /clone/file'), 'second\n')
    assert.equal(await run('writer', 'cat /data/file'), 'second\n')
  })

  it('has one snapshot in the driver for each member of a group', async () => {
    await snapshotReady('volumegroupsnapshot/together')
    await untilSeen('a snapshot of each claim', async () => {
      const { items }: { items: GroupMember[] } = JSON.parse(
        await kubectl(['get', 'volumesnapshots', '-o', 'json']),
      )
      const members = items.filter(({ status: each }) => each?.volumeGroupSnapshotName === 'together')
      const claims = new Set(members.map(({ spec }) => spec.source.persistentVolumeClaimName))
      return members.length === 3 && claims.isSubsetOf(new Set(['data', 'disk', 'late'])) && claims.size === 3
    })
    using client = driverClient(given.cluster.csi.socket)
    const { entries } = await client.controller.listSnapshots({})
    const groups = entries.map(entry => entry.snapshot?.groupSnapshotId).filter(Boolean)
    assert.equal(groups.length, 3)
    assert.equal(new Set(groups).size, 1)
  })

  it('takes a snapshot of the driver that is brought by hand, and lets go of it', async () => {
    const { driver, socket } = given.cluster.csi
    const content = await status('boundVolumeSnapshotContentName', 'volumesnapshot/data')
    const snapshotHandle = await status('snapshotHandle', `volumesnapshotcontent/${content}`)
    await create(
      {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshotContent',
        metadata: { name: 'by-hand' },
        spec: {
          deletionPolicy: 'Retain',
          driver,
          source: { snapshotHandle },
          volumeSnapshotRef: { namespace, name: 'by-hand' },
        },
      },
      {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        metadata: { name: 'by-hand' },
        spec: { source: { volumeSnapshotContentName: 'by-hand' } },
      },
    )
    await snapshotReady('volumesnapshot/by-hand')
    assert.equal(await status('restoreSize', 'volumesnapshot/by-hand'), '16Mi')
    await kubectl(['delete', 'volumesnapshot/by-hand', 'volumesnapshotcontent/by-hand', patience])
    using client = driverClient(socket)
    const { entries } = await client.controller.listSnapshots({ snapshotId: snapshotHandle })
    assert.equal(entries.length, 1)
  })

  it('goes on with a driver that was killed and started again', async () => {
    await given.cluster.kill('csi-driver')
    assert.equal(await run('writer', 'cat /data/file'), 'second\n')
    await create(snapshot('after-kill', 'data'))
    await given.cluster.start('csi-driver')
    await snapshotReady('volumesnapshot/after-kill')
  })

  it('shows in the status what goes wrong in the driver, and recovers', async () => {
    const { stateFolder } = given.cluster.csi
    const error = { code: 'INTERNAL', message: 'the array is on fire' } as const
    await setFaults(stateFolder, { calls: [{ method: 'CreateSnapshot', error }] })
    await create(snapshot('burnt', 'data'))
    await untilSeen('the error', async () =>
      (await status('error.message', 'volumesnapshot/burnt')).includes(error.message),
    )
    await setFaults(stateFolder, { snapshotsReady: 'never' })
    await untilSeen(
      'a handle',
      async () =>
        (await status('boundVolumeSnapshotContentName', 'volumesnapshot/burnt')) !== '' &&
        (await status('readyToUse', 'volumesnapshot/burnt')) === 'false',
    )
    await setFaults(stateFolder, {})
    await snapshotReady('volumesnapshot/burnt')
  })

  it('has nothing in driver and node after all is deleted', async () => {
    await kubectl(['delete', 'pod', '--all', patience])
    await kubectl(['delete', 'volumegroupsnapshot', '--all', patience])
    await kubectl(['delete', 'volumesnapshot', '--all', patience])
    await kubectl(['delete', 'pvc', '--all', patience])
    using client = driverClient(given.cluster.csi.socket)
    await untilSeen('a driver without volumes', async () => {
      const [volumes, snapshots] = await Promise.all([
        client.controller.listVolumes({}),
        client.controller.listSnapshots({}),
      ])
      return volumes.entries.length + snapshots.entries.length === 0
    })
    const { plan } = given.cluster
    const node = await joinNamespaces(plan)
    // The kubelet lets go of devices by and by, also of volumes that the driver has deleted.
    let left: string[] = []
    const failure = () => new Error(`left in the node: ${left.join('\n')}`)
    const isEmpty = async () => {
      const mounts = (await node.run('cat', ['/proc/self/mountinfo'])).split('\n')
      const devices = (await loopDevicesBelow(plan.folder)).map(each => JSON.stringify(each))
      left = [...devices, ...mounts.filter(line => line.includes('/csi/volumes/'))]
      return left.length === 0
    }
    await waitUntil(isEmpty, { timeoutMs: 120_000, failure })
  })

  it('works with programs that have no right too few', async () => {
    for (const name of ['snapshot-controller', 'csi-snapshotter', 'csi-provisioner']) {
      const log = await readFile(filesOf(given.cluster.plan).log(name), 'utf8')
      assert.doesNotMatch(log, /forbidden/i, name)
    }
  })

  it('leaves no mount and no loop device when it is stopped while volumes are in use', async () => {
    const { plan, name } = given.cluster
    await create(
      claim('last', { mode: 'Block' }),
      claim('last-folder'),
      pod('last', { folders: ['last-folder'], devices: ['last'] }),
    )
    await podReady('last')
    const traces = (await tracesOf(plan)).filter(trace => trace.startsWith('loop device'))
    assert.equal(traces.length, 2, 'the device of the driver, and that which the kubelet puts on it')
    await stopCluster(name)
    assert.deepEqual(await tracesOf(plan), [])
    assert.deepEqual(await loopDevicesBelow(plan.folder), [])
  })
})
