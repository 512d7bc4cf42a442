import assert from 'node:assert/strict'
import { afterEach, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BackupKind } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { VolumeSnapshotKind } from '../../packages/server/src/csi/snapshot-kinds.ts'
import type { ResourceList } from '../../packages/server/src/report/resource-list.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { setFaults } from '../csi-driver/faults.ts'
import type { Results } from './backup-bucket.ts'
import {
  foreignVolume,
  refuseRetain,
  snapshotClassManifest,
  storageClassManifest,
} from './csi-fault-objects.ts'
import { claimManifest, createCsiPod, csiScene, ownLabel } from './csi-scene.ts'

const given = await givenCluster({ node: true, s3: true, csi: true, own: true })
const shop = 'csi-faults-shop'
/** The driver gets little time. */
const hasty = ['--csi-snapshot-timeout=2s', '--item-operation-timeout=3s']

interface Snapshot {
  metadata: { name: string }
  status?: { boundVolumeSnapshotContentName?: string; readyToUse?: boolean }
}

describe('snapshots that something goes wrong with', { skip: given.skip, concurrency: false }, async () => {
  const scene = await csiScene(given, { namespace: 'csi-faults' })
  /** The snapshot of a user. */
  let own: string[]
  const kubectl = (...args: Parameters<typeof given.cluster.kubectl>) => given.cluster.kubectl(...args)
  const apply = (...items: object[]) =>
    kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) })
  const faults = (some: Parameters<typeof setFaults>[1]) => setFaults(given.cluster.csi.stateFolder, some)
  const backUp = (name: string, ...flags: string[]) =>
    scene.backUp(name, `--include-namespaces=${shop}`, ...flags)

  before(async () => {
    const pod = await createCsiPod(given.cluster, { namespace: shop, claims: { data: {} } })
    await pod.run('echo one > /data/one')
    await apply({
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { name: 'own', namespace: shop, labels: { [ownLabel]: 'yes' } },
      spec: {
        volumeSnapshotClassName: given.cluster.csi.snapshotClass,
        source: { persistentVolumeClaimName: 'data' },
      },
    })
    const ready = '--for=jsonpath={.status.readyToUse}=true'
    await kubectl(['-n', shop, 'wait', ready, 'volumesnapshot/own', '--timeout=60s'])
    own = await scene.driverSnapshots()
  })

  afterEach(() => faults({}))

  async function told(backup: string): Promise<{ errors: string; warnings: string }> {
    const { errors, warnings } = (await scene.bucket.readJson(backup, '-results.gz')) as Results
    return { errors: JSON.stringify(errors), warnings: JSON.stringify(warnings) }
  }

  /** Waits until a snapshot of a backup is there and so, and returns what was found. */
  function snapshotHas(
    backup: string,
    find: (snapshot: Snapshot) => string | undefined,
    namespace = shop,
  ): Promise<string> {
    const label = `velero.io/backup-name=${backup}`
    const list = ['-n', namespace, 'get', 'volumesnapshots', '-l', label, '-o', 'json']
    let items: Snapshot[] = []
    const ask = async () => {
      items = JSON.parse(await kubectl(list)).items
      return items.map(find).find(Boolean)
    }
    const failure = () => new Error(`the snapshot of ${backup} is not so: ${JSON.stringify(items)}`)
    return waitUntil(ask, { timeoutMs: 120_000, failure })
  }

  const contentOf = (backup: string) =>
    snapshotHas(backup, ({ status }) => status?.boundVolumeSnapshotContentName)

  async function phaseOf(name: string): Promise<string> {
    return waitUntil(
      async () => {
        const { status } = JSON.parse(await scene.succeed('backup', 'get', name, '-o', 'json'))
        return /^(Completed|PartiallyFailed|Failed)$/.test(status?.phase) && (status.phase as string)
      },
      { timeoutMs: 120_000, failure: () => new Error(`the backup ${name} does not end`) },
    )
  }

  it('are told of when no class is there for their driver, or two are the default, and the others are taken', async () => {
    const odd = 'csi-faults-odd'
    const isDefault = { 'snapshot.storage.kubernetes.io/is-default-class': 'true' }
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: odd } },
      storageClassManifest('none.example'),
      storageClassManifest('twins.example'),
      snapshotClassManifest('castor', 'twins.example', isDefault),
      snapshotClassManifest('pollux', 'twins.example', isDefault),
      ...foreignVolume(odd, 'none', 'none.example'),
      ...foreignVolume(odd, 'twins', 'twins.example'),
      claimManifest(odd, 'unbound', { class: 'nowhere' }),
      claimManifest(odd, 'waiting', { class: given.cluster.csi.waitingStorageClass }),
    )
    const user = await createCsiPod(given.cluster, { namespace: odd, name: 'user', claims: { used: {} } })
    await user.run('echo used > /used/file')
    await kubectl([
      ...['-n', odd, 'wait', '--for=jsonpath={.status.phase}=Bound', 'pvc/none', 'pvc/twins'],
      '--timeout=60s',
    ])
    const { status } = await scene.backUp('odd', `--include-namespaces=${odd}`)
    assert.equal(status?.phase, 'PartiallyFailed')
    const { errors } = await told('odd')
    assert.match(errors, /none\.example/)
    assert.match(errors, /castor/)
    assert.match(errors, /pollux/)
    assert.doesNotMatch(errors, /unbound|waiting|used/)
    assert.equal((await scene.snapshotsNeeded()).length, own.length + 1)
    await scene.nothingIsLeft()
    const paths = await scene.bucket.paths('odd')
    for (const claim of ['unbound', 'waiting', 'used']) {
      assert.ok(paths.includes(`resources/persistentvolumeclaims/namespaces/${odd}/${claim}.json`), claim)
    }
    await scene.deleteBackups('odd')
    await kubectl(['delete', 'namespace', odd, '--wait=false'])
    await kubectl(['delete', 'pv', 'none', 'twins', '--wait=false'])
    await scene.nothingIsLeft()
  })

  it('fail with the words of the driver when it has told nothing else in time', async () => {
    const error = { code: 'INTERNAL', message: 'the array is on fire' } as const
    await faults({ calls: [{ method: 'CreateSnapshot', error }] })
    // Its words come by way of two controllers.
    const { status } = await backUp('burnt', '--csi-snapshot-timeout=20s')
    assert.equal(status?.phase, 'PartiallyFailed')
    assert.match((await told('burnt')).errors, /the array is on fire/)
    await faults({})
    await scene.nothingIsLeft()
  })

  it('fail when they are never ready to use, or somebody deletes their content in the middle', async () => {
    await faults({ snapshotsReady: 'never' })
    await scene.succeed('backup', 'create', 'torn', `--include-namespaces=${shop}`)
    const content = await contentOf('torn')
    await kubectl(['delete', 'volumesnapshotcontent', content, '--wait=false'])
    const { status } = await backUp('unready', ...hasty)
    assert.equal(status?.phase, 'PartiallyFailed')
    assert.equal(await phaseOf('torn'), 'PartiallyFailed')
    assert.match((await told('torn')).errors, new RegExp(`${content} was deleted`))
    await faults({})
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
  })

  /** A pod that is frozen while its volume is snapshot, and tells when in `/data/log`. */
  const frozenPod = (namespace: string) =>
    createCsiPod(given.cluster, {
      namespace,
      claims: { data: {} },
      annotations: {
        'pre.hook.backup.velero.io/command': '["sh", "-c", "echo frozen >> /data/log"]',
        'post.hook.backup.velero.io/command': '["sh", "-c", "echo thawed >> /data/log"]',
      },
    })

  it('are of the moment between the hooks, however long the driver takes to begin', async () => {
    const namespace = 'csi-faults-frozen'
    const frozen = await frozenPod(namespace)
    await faults({ calls: [{ method: 'CreateSnapshot', delayMs: 4000 }] })
    const { status } = await scene.backUp('frozen', `--include-namespaces=${namespace}`)
    assert.equal(status?.phase, 'Completed')
    const [handle = ''] = (await scene.driverSnapshots()).filter(each => !own.includes(each))
    assert.equal(await scene.inSnapshot(handle, 'log'), 'frozen\n')
    assert.equal(await frozen.run('cat /data/log'), 'frozen\nthawed\n')
    await scene.deleteBackups('frozen')
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  it('are let go of when their backup is cancelled between the hooks, and the pod is thawed', async () => {
    const namespace = 'csi-faults-chilled'
    const chilled = await frozenPod(namespace)
    await faults({ calls: [{ method: 'CreateSnapshot', delayMs: 6000 }] })
    await scene.succeed('backup', 'create', 'chilled', `--include-namespaces=${namespace}`)
    await snapshotHas('chilled', ({ metadata }) => metadata.name, namespace)
    assert.equal(await chilled.run('cat /data/log'), 'frozen\n')
    await scene.succeed('backup', 'cancel', 'chilled', '--confirm')
    assert.equal(await phaseOf('chilled'), 'Failed')
    assert.equal(await chilled.run('cat /data/log'), 'frozen\nthawed\n')
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
    await scene.deleteBackups('chilled')
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  it('are taken although the snapshot controller dies in the middle', async () => {
    await faults({ snapshotsReady: { afterMs: 10_000 } })
    await scene.succeed('backup', 'create', 'restarted', `--include-namespaces=${shop}`)
    await snapshotHas('restarted', ({ metadata }) => metadata.name)
    await given.cluster.kill('snapshot-controller')
    await given.cluster.start('snapshot-controller')
    assert.equal(await phaseOf('restarted'), 'Completed')
    await faults({})
    await scene.nothingIsLeft()
    assert.equal((await scene.driverSnapshots()).length, own.length + 1)
  })

  it('fail while the driver is gone, and are deleted when it is back', async () => {
    await given.cluster.kill('csi-driver')
    const [{ status }] = await Promise.all([
      backUp('driverless', ...hasty),
      deletionWaits('restarted', /did not look at the snapshot/),
    ])
    assert.equal(status?.phase, 'PartiallyFailed')
    await given.cluster.start('csi-driver')
    await deleted('restarted')
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
  })

  /** Has a backup deleted, with little patience, and waits until it is told why that takes longer. */
  async function deletionWaits(backup: string, says: RegExp): Promise<void> {
    const annotate = ['-n', scene.namespace, 'annotate', `backup/${backup}`, '--overwrite']
    await kubectl([...annotate, 'velero.io/resource-timeout=2s'])
    await scene.succeed('backup', 'delete', backup, '--confirm')
    let last = ''
    const requests = ['-n', scene.namespace, 'get', 'deletebackuprequests', '-o', 'json']
    const isTold = async () => {
      const { items } = JSON.parse(await kubectl(requests))
      last = JSON.stringify(items.map(({ status }: { status?: object }) => status))
      return says.test(last)
    }
    const failure = () => new Error(`not told: ${says}, but ${last}`)
    await waitUntil(isTold, { timeoutMs: 120_000, everyMs: 300, failure })
  }

  async function deleted(backup: string): Promise<void> {
    await kubectl(['-n', scene.namespace, 'wait', '--for=delete', `backup/${backup}`, '--timeout=120s'])
  }

  it('stay with their backup as long as the storage does not delete them', async () => {
    await backUp('kept')
    const error = { code: 'INTERNAL', message: 'the array is asleep' } as const
    await faults({ calls: [{ method: 'DeleteSnapshot', error }] })
    await deletionWaits('kept', /did not delete the snapshot/)
    assert.equal((await scene.driverSnapshots()).length, own.length + 1)
    await faults({})
    await deleted('kept')
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
  })

  it('keep their objects as long as nobody may tell that they are to be kept', async () => {
    await using refusal = await refuseRetain(given.cluster)
    const { status } = await backUp('refused')
    assert.match(status?.phase ?? '', /^(Completed|PartiallyFailed)$/)
    assert.match((await told('refused')).warnings, /nothing is kept here/)
    const content = await contentOf('refused')
    assert.equal((await scene.driverSnapshots()).length, own.length + 1)
    const { stdout } = await scene.lateen('doctor')
    assert.match(stdout, new RegExp(content))
    await refusal[Symbol.asyncDispose]()
    await scene.deleteBackups('refused')
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
  })

  it('whose contents cannot be moved for that reason are gone when their backup is over', async () => {
    await using _refusal = await refuseRetain(given.cluster)
    const { status } = await backUp('unmoved', '--snapshot-move-data')
    assert.equal(status?.phase, 'PartiallyFailed')
    assert.match((await told('unmoved')).errors, /nothing is kept here/)
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
  })

  /** The VolumeSnapshots that the archive of a backup has. */
  async function archived(backup: string): Promise<string[]> {
    const list = (await scene.bucket.readJson(backup, '-resource-list.json.gz')) as Partial<ResourceList>
    return list['snapshot.storage.k8s.io/v1/VolumeSnapshot'] ?? []
  }

  it('are in the storage exactly if they are in the backup, which fails without them, whenever somebody deletes their objects while it ends', async () => {
    const snapshots = scene.client.resource(VolumeSnapshotKind, shop)
    const backups = scene.client.resource(BackupKind, scene.namespace)
    const names: string[] = []
    for (const delayMs of [0, 100, 300]) {
      const name = `raced-${delayMs}`
      names.push(name)
      await faults({ snapshotsReady: { afterMs: 3_000 } })
      const before = await scene.driverSnapshots()
      await scene.succeed('backup', 'create', name, `--include-namespaces=${shop}`)
      const snapshot = await snapshotHas(name, ({ metadata }) => metadata.name)
      const ends = async () => {
        const { status } = await backups.get(name)
        return /^(Finalizing|Completed|PartiallyFailed|Failed)/.test(status?.phase ?? '')
      }
      const failure = () => new Error(`the backup ${name} does not end`)
      await waitUntil(ends, { timeoutMs: 120_000, everyMs: 10, failure })
      await sleep(delayMs)
      await snapshots.delete(snapshot).catch(unlessNotFound)
      const phase = await phaseOf(name)
      await scene.nothingIsLeft()
      const isArchived = (await archived(name)).includes(`${shop}/${snapshot}`)
      const taken = (await scene.driverSnapshots()).filter(handle => !before.includes(handle))
      assert.equal(phase, isArchived ? 'Completed' : 'PartiallyFailed')
      assert.equal(taken.length, isArchived ? 1 : 0)
      assert.equal((await told(name)).errors.includes(snapshot), !isArchived)
    }
    await faults({})
    await scene.deleteBackups(...names)
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
  })

  it('are missed by their backup when somebody deleted them before it ends, also while something still holds their objects', async () => {
    const pair = 'csi-faults-pair'
    await createCsiPod(given.cluster, { namespace: pair, claims: { left: {}, right: {} } })
    const hold = JSON.stringify([
      { op: 'add', path: '/metadata/finalizers/-', value: 'test.lateen.dev/held' },
    ])
    const letGo = JSON.stringify({ metadata: { finalizers: null } })
    for (const [name, isHeld, why] of [
      ['deleted', false, 'does not exist any more'],
      ['terminating', true, 'is being deleted'],
    ] as const) {
      // The backup waits for the second snapshot, and does not look at the first one again before it ends.
      const error = { code: 'UNAVAILABLE', message: 'one at a time' } as const
      await faults({ calls: [{ method: 'CreateSnapshot', at: 2, error }] })
      await scene.succeed('backup', 'create', name, `--include-namespaces=${pair}`)
      const isReady = ({ metadata, status }: Snapshot) => (status?.readyToUse ? metadata.name : undefined)
      const snapshot = await snapshotHas(name, isReady, pair)
      const failure = () => new Error(`nobody sees that the snapshot ${snapshot} is ready`)
      const isSeen = async () => {
        const { status } = await scene.client.resource(BackupKind, scene.namespace).get(name)
        return status?.backupItemOperationsCompleted === 1
      }
      await waitUntil(isSeen, { timeoutMs: 120_000, failure })
      const object = ['-n', pair, 'volumesnapshot', snapshot]
      if (isHeld) await kubectl(['patch', ...object, '--type=json', '-p', hold])
      await kubectl(['delete', ...object, `--wait=${!isHeld}`])
      await faults({})
      assert.equal(await phaseOf(name), 'PartiallyFailed')
      const { errors } = await told(name)
      assert.match(errors, new RegExp(`${snapshot}.* ${why}`))
      const inArchive = await archived(name)
      assert.equal(inArchive.length, 1)
      assert.ok(!inArchive.includes(`${pair}/${snapshot}`))
      if (isHeld) await kubectl(['patch', ...object, '--type=merge', '-p', letGo])
      await scene.nothingIsLeft()
      assert.equal((await scene.driverSnapshots()).length, own.length + 1)
      await scene.deleteBackups(name)
    }
    await kubectl(['delete', 'namespace', pair, '--wait=false'])
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), own)
  })

  it('of users are not touched by any of it', async () => {
    assert.equal(own.length, 1)
    assert.deepEqual(await scene.driverSnapshots(), own)
  })
})
