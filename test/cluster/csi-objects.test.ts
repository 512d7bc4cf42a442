import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BackupRepositoryKind, DataDownloadKind, DataUploadKind } from '@lateen/api'
import {
  builtInKind,
  createKubeClient,
  type KubeObject,
  loadKubeConfig,
  type ResourceType,
} from '@lateen/kube'
import { clusterRules, type NamedRule } from '../../packages/cli/src/install/cluster-role.ts'
import {
  VolumeGroupSnapshotContentKind,
  VolumeGroupSnapshotKind,
} from '../../packages/server/src/csi/group-snapshot-kinds.ts'
import {
  VolumeSnapshotClassKind,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from '../../packages/server/src/csi/snapshot-kinds.ts'
import { reportMapName } from '../../packages/server/src/watchdog/bucket-report.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { isAllowed, untilAllowed } from '../../tools/cluster/until-allowed.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import { lacks, type NamesInUse, nameFits, type ObjectRow, readObjectTable } from './csi-object-table.ts'
import { claimManifest, createCsiPod, csiScene } from './csi-scene.ts'
import { ObjectRecord, type RecordedObject } from './object-record.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })

const namespace = 'csi-objects'
const [kept, moved] = [`${namespace}-kept`, `${namespace}-moved`]
const table = await readObjectTable()
const recorded = [
  ...[VolumeSnapshotKind, VolumeSnapshotContentKind, VolumeSnapshotClassKind],
  ...[VolumeGroupSnapshotKind, VolumeGroupSnapshotContentKind, DataUploadKind, DataDownloadKind],
  BackupRepositoryKind,
  ...(['PersistentVolumeClaim', 'PersistentVolume', 'Pod', 'ConfigMap', 'Secret'] as const).map(kind =>
    builtInKind(kind),
  ),
] as ResourceType<KubeObject>[]

/** ConfigMaps that come by themselves: of Kubernetes, and of the server when it has looked through its buckets. */
const notOfWork = ['kube-root-ca.crt', reportMapName]

interface Cut extends KubeObject {
  spec?: {
    volumeSnapshotRef?: { namespace?: string }
    volumeGroupSnapshotRef?: { namespace?: string }
    claimRef?: { namespace?: string }
  }
}

describe('The table of objects in docs/csi.md', { skip: given.skip, concurrency: false }, async () => {
  const flags = ['--rights=backup,restore']
  const scene = await csiScene(given, { namespace, flags })
  const kubectl = (...args: string[]) => given.cluster.kubectl(args)
  const only = '--include-resources=persistentvolumeclaims,persistentvolumes'
  const opened = new AsyncDisposableStack()
  let record: ObjectRecord
  const seenRows = new Set<ObjectRow>()

  before(async () => {
    const together = {
      labels: { 'velero.io/volume-group': 'pair' },
      annotations: { 'velero.io/csi-volume-group-snapshot-class': 'csi-groups' },
    }
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: kept } },
      claimManifest(kept, 'alone'),
      claimManifest(kept, 'left', together),
      claimManifest(kept, 'right', together),
    ]
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await given.cluster.kubectl(['create', '-f', '-'], { stdin })
    const pod = await createCsiPod(given.cluster, { namespace: moved, claims: { data: {} } })
    await pod.run('echo moved > /data/file')
    const names = ['pvc/alone', 'pvc/left', 'pvc/right']
    await kubectl('-n', kept, 'wait', '--for=jsonpath={.status.phase}=Bound', ...names, '--timeout=120s')
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath, env: {} })
    const client = opened.use(await createKubeClient({ config }))
    record = opened.use(await ObjectRecord.of(client, recorded))
  })
  after(async () => {
    await opened.disposeAsync()
    await kubectl('delete', 'clusterroles,clusterrolebindings', '--ignore-not-found', ...roles)
    const namespaces = [kept, moved, `${kept}-back`, `${moved}-back`]
    await kubectl('delete', 'namespace', ...namespaces, '--wait=false', '--ignore-not-found')
  })
  const roles = [`lateen-${namespace}`, `lateen-node-agent-${namespace}`]

  const isOurs = (name: string | undefined) =>
    name === namespace || name?.startsWith(`${namespace}-`) === true

  /** Others use the cluster at the same time; and what runs and is configured anyway is no matter of snapshots. */
  function isOfInterest({ kind, metadata, spec }: Cut): boolean {
    if (kind === 'Pod') return metadata.namespace === namespace && !isOfWorkload(metadata)
    if (kind === 'ConfigMap' && notOfWork.includes(metadata.name ?? '')) return false
    if (metadata.namespace !== undefined) return isOurs(metadata.namespace)
    const { volumeSnapshotRef, volumeGroupSnapshotRef, claimRef } = spec ?? {}
    const to = volumeSnapshotRef ?? volumeGroupSnapshotRef ?? claimRef
    if (to === undefined) return !isByHand({ kind, metadata })
    return isOurs(to.namespace) || isOurs(metadata.labels?.['velero.io/backup-name'])
  }
  /** Other files make classes, and volumes for nobody. Those of ours are marked, or have been provisioned. */
  function isByHand({ kind, metadata }: Pick<Cut, 'kind' | 'metadata'>): boolean {
    if (kind === 'VolumeSnapshotClass') return metadata.annotations?.['lateen.dev/synced'] === undefined
    return kind === 'PersistentVolume' && metadata.name?.startsWith('pvc-') !== true
  }
  const isOfWorkload = ({ ownerReferences = [] }: KubeObject['metadata']) =>
    ownerReferences.some(({ kind }) => /^(ReplicaSet|DaemonSet|Job)$/.test(kind))

  /** The lines that an object may stand in. */
  function rowsOf({ object }: RecordedObject, work: readonly string[], names: NamesInUse): ObjectRow[] {
    const { namespace: place, name = '' } = object.metadata
    return table.filter(row => {
      if (!work.includes(row.for) || row.kind !== object.kind) return false
      const isThere =
        row.place === '' ? place === undefined : (place === namespace) === (row.place === "the server's")
      return isThere && nameFits(row, name, names)
    })
  }

  /** Does something, and looks whether what came of it is in the table. */
  async function during(
    work: readonly string[],
    ends: readonly string[],
    act: () => Promise<void>,
  ): Promise<void> {
    const moment = record.now
    await act()
    const found = () => record.since(moment).filter(({ object }) => isOfInterest(object))
    const named = (kind: string) =>
      record.since(0).flatMap(({ object }) => (object.kind === kind ? [object.metadata.name ?? ''] : []))
    const names: NamesInUse = {
      claim: ['alone', 'left', 'right', 'data'],
      backup: [kept, moved],
      restore: [`${kept}-back`, `${moved}-back`],
      DataUpload: named('DataUpload'),
      DataDownload: named('DataDownload'),
    }
    const tell = ({ object: { kind, metadata } }: RecordedObject) =>
      `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
    const goes = (each: RecordedObject) => rowsOf(each, work, names).some(({ when }) => ends.includes(when))
    await waitUntil(async () => found().every(each => each.gone || !goes(each)), {
      timeoutMs: 120_000,
      everyMs: 200,
      failure: () =>
        new Error(
          `still there: ${found()
            .filter(each => !each.gone && goes(each))
            .map(tell)
            .join(', ')}`,
        ),
    })
    for (const each of found()) {
      const rows = rowsOf(each, work, names)
      assert.ok(rows.length > 0, `${tell(each)} is in no line of the table for ${work.join(', ')}`)
      const missing = rows.map(row => lacks(row, each.object))
      assert.ok(missing.includes(undefined), `${tell(each)} lacks ${missing.join(', ')}`)
      assert.ok(!each.gone || goes(each), `${tell(each)} went, which the table does not say`)
      for (const row of rows) seenRows.add(row)
    }
  }

  it('has what is made for snapshots, alone and in groups', async () => {
    await during(['backup', 'group backup'], ['the backup ends'], async () => {
      const { status } = await scene.backUp(kept, `--include-namespaces=${kept}`, only)
      assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    })
  })

  it('has what is made to move their contents', async () => {
    await during(['moved backup'], ['the backup ends'], async () => {
      const { status } = await scene.backUp(
        moved,
        `--include-namespaces=${moved}`,
        only,
        '--snapshot-move-data',
      )
      assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    })
  })

  it('has what is made to restore them', async () => {
    await during(['restore', 'group restore'], ['the claim is bound'], async () => {
      const { status } = await scene.restore(
        `${kept}-back`,
        kept,
        `--namespace-mappings=${kept}:${kept}-back`,
      )
      assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    })
  })

  it('has what is made to restore contents', async () => {
    await during(['moved restore'], ['the restore ends'], async () => {
      const mapping = `--namespace-mappings=${moved}:${moved}-back`
      const { status } = await scene.restore(`${moved}-back`, moved, mapping)
      assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    })
  })

  it('has what is made to delete them, and tells what goes with them', async () => {
    const uploads = record
      .since(0)
      .filter(({ object }) => object.kind === 'DataUpload' && isOfInterest(object))
    const downloads = record
      .since(0)
      .filter(({ object }) => object.kind === 'DataDownload' && isOfInterest(object))
    assert.deepEqual(
      [...uploads, ...downloads].map(({ gone }) => gone),
      [false, false],
    )
    await during(['delete', 'group delete'], ['the backup is gone'], () => scene.deleteBackups(kept, moved))
    await waitUntil(async () => [...uploads, ...downloads].every(({ gone }) => gone), {
      timeoutMs: 60_000,
      failure: () => new Error('DataUpload or DataDownload stay'),
    })
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), [])
  })

  it('has no line for what is not made', () => {
    const unseen = table.filter(row => !row.rare && !seenRows.has(row))
    assert.deepEqual(
      unseen.map(({ text }) => text),
      [],
    )
  })

  it('is kept by a server and node agents that may do no more than what their roles say', async () => {
    for (const which of ['deployment/velero', 'daemonset/node-agent']) {
      const log = await kubectl('-n', namespace, 'logs', which, '--tail=-1')
      assert.doesNotMatch(log, /forbidden|cannot \w+ resource/i, which)
    }
  })

  it('needs the right to make them', async () => {
    const rules = await withoutRule('snapshots', { verb: 'create', resource: 'volumesnapshots' })
    const name = `${namespace}-without`
    const { status } = await scene.backUp(name, `--include-namespaces=${moved}`, only)
    assert.equal(status?.phase, 'PartiallyFailed')
    const told = await scene.succeed('backup', 'describe', name, '--details')
    assert.match(told, /cannot create resource "volumesnapshots/)
    await scene.nothingIsLeft()
    await setRules(rules)
  })

  it('needs the right to say which snapshot is to be deleted where its driver cannot, and goes on once it has it', async () => {
    const name = `${namespace}-stays`
    await untilAllowed(given.cluster, user, { ...snapshotGroup, verb: 'create', resource: 'volumesnapshots' })
    const { status } = await scene.backUp(name, `--include-namespaces=${moved}`, only)
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    const [snapshotId = '', ...others] = await scene.driverSnapshots()
    assert.deepEqual(others, [])
    // The snapshotter says itself which snapshot a content stands for, unless the driver does not know that.
    using driver = driverClient(given.cluster.csi.socket)
    await driver.controller.deleteSnapshot({ snapshotId })
    const noting = { verb: 'patch', resource: 'volumesnapshotcontents', subresource: 'status' }
    const rules = await withoutRule('snapshot-status', noting)
    await scene.succeed('backup', 'delete', name, '--confirm')
    await untilSeen('what is missing', async () => {
      const told = await scene.succeed('backup', 'describe', name)
      return /cannot patch resource "volumesnapshotcontents\/status"/.test(told)
    })
    await setRules(rules)
    await scene.deleteBackups(name)
    await scene.nothingIsLeft()
  })

  const user = `system:serviceaccount:${namespace}:velero`
  const snapshotGroup = { group: 'snapshot.storage.k8s.io', namespace: moved }

  function setRules(named: readonly NamedRule[]): Promise<string> {
    const patch = JSON.stringify({ rules: named.map(each => each.rule) })
    return kubectl('patch', 'clusterrole', `lateen-${namespace}`, '--type=merge', '-p', patch)
  }

  /** Takes a rule away, waits until what it allows is refused, and returns all rules. */
  async function withoutRule(
    rule: string,
    asked: { verb: string; resource: string; subresource?: string },
  ): Promise<readonly NamedRule[]> {
    const rules = clusterRules({ grants: ['backup', 'restore'], apiGroups: ['*'] })
    // What restores are allowed covers it.
    await setRules(rules.filter(({ id, right }) => id !== rule && right !== 'restore'))
    // The API server takes a moment until it knows of changes.
    await untilSeen('that it has the right no more', async () => {
      return !(await isAllowed(given.cluster, user, { ...snapshotGroup, ...asked }))
    })
    return rules
  }
})
