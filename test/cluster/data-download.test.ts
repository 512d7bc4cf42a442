import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { apiVersionOf, type DataDownload, DataDownloadKind, type DataUpload, type Restore } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { type CsiClaim, claimManifest, createCsiPod, csiPod, csiScene } from './csi-scene.ts'
import { whileAgentStands } from './pod-processes.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })
const namespace = 'data-download'
const shop = `${namespace}-shop`
const copy = `${namespace}-copy`
const unwanted = `${namespace}-unwanted`
const targets = `${namespace}-targets`
/** Of a class whose volumes outlive their claims. */
const keeping = `${namespace}-keeping`

const patience = '--timeout=120s'

interface Claim {
  metadata: { name: string }
  spec: { volumeName?: string }
  status: { phase: string }
}

interface Volume {
  spec: { persistentVolumeReclaimPolicy: string; claimRef?: { namespace: string; name: string } }
}

describe('volumes that are filled from the repository', {
  skip: given.skip,
  concurrency: false,
}, async () => {
  const kubectl = (...args: Parameters<typeof given.cluster.kubectl>) => given.cluster.kubectl(...args)
  const create = (...items: object[]) =>
    kubectl(['create', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) })
  const read = async <T>(...args: string[]): Promise<T> =>
    JSON.parse(await kubectl(['get', ...args, '-o', 'json']))
  const patch = (object: readonly string[], body: object) =>
    kubectl(['patch', ...object, '--type=merge', '-p', JSON.stringify(body)])
  const written = { data: '', late: '', disk: '' }
  const uploads = new Map<string, DataUpload>()

  before(async () => {
    const config = JSON.stringify({ loadConcurrency: { globalConfig: 4 } })
    const { metadata: _, ...storageClass } = await read<{ metadata: object }>('storageclass', 'csi')
    await create(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: targets } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'agents', namespace }, data: { config } },
      { ...storageClass, metadata: { name: keeping }, reclaimPolicy: 'Retain' },
    )
  })
  const scene = await csiScene(given, { namespace, flags: ['--node-agent-configmap=agents'] })
  before(async () => {
    const [pod, later] = await Promise.all([
      createCsiPod(given.cluster, { namespace: shop, claims: { data: {}, disk: { mode: 'Block' } } }),
      createCsiPod(given.cluster, {
        ...{ namespace: shop, name: 'later', claims: { late: { class: 'csi-waiting' } } },
      }),
    ])
    await pod.run(
      'cd /data; echo one > one; chown 7:8 one; mkdir two; ln -s ../one two/link; head -c 3000000 /dev/urandom > big; chmod 700 two',
    )
    await pod.run('head -c 9000000 /dev/urandom > /dev/disk')
    await later.run('echo late > /late/file')
    written.data = await pod.tree('/data')
    written.late = await later.tree('/late')
    written.disk = await pod.checksum('disk')
    const backup = await scene.backUp('moved', `--include-namespaces=${shop}`, '--snapshot-move-data')
    assert.equal(backup.status?.phase, 'Completed', JSON.stringify(backup.status))
    for (const upload of await scene.dataUploads('moved')) {
      assert.equal(upload.status?.phase, 'Completed', JSON.stringify(upload.status))
      uploads.set(upload.spec.sourcePVC, upload)
    }
    assert.deepEqual([...uploads.keys()].sort(), ['data', 'disk', 'late'])
  })
  after(async () => {
    const all = [shop, copy, unwanted, targets]
    await kubectl(['delete', 'namespace', ...all, '--wait=false', '--ignore-not-found'])
    await kubectl(['delete', 'storageclass', keeping, '--ignore-not-found'])
  })

  async function assertRestored(restore: string, where: string): Promise<void> {
    const pod = csiPod(given.cluster, { namespace: where })
    const later = csiPod(given.cluster, { namespace: where, name: 'later' })
    await Promise.all([pod.ready(), later.ready()])
    assert.equal(await pod.tree('/data'), written.data)
    assert.equal(await later.tree('/late'), written.late)
    assert.equal(await pod.checksum('disk'), written.disk)
    for (const { status } of await scene.dataDownloads(restore)) assert.equal(status?.phase, 'Completed')
    const { items: claims } = await read<{ items: Claim[] }>('-n', where, 'pvc')
    for (const { metadata, spec } of claims) {
      const volume = await read<Volume>('pv', spec.volumeName ?? '')
      assert.equal(volume.spec.persistentVolumeReclaimPolicy, 'Delete')
      const { namespace: ofNamespace, name } = volume.spec.claimRef ?? {}
      assert.equal(`${ofNamespace}/${name}`, `${where}/${metadata.name}`)
    }
  }

  it('are given to claims in their own and in another namespace, whether or not these wait for a pod', async () => {
    // What is left of them is not touched.
    await kubectl(['-n', shop, 'delete', 'pod', 'writer', '--grace-period=0', '--force'])
    await kubectl(['-n', shop, 'delete', 'pvc', 'data', 'disk', patience])
    const restores = await Promise.all([
      scene.restore('same', 'moved'),
      scene.restore('mapped', 'moved', `--namespace-mappings=${shop}:${copy}`),
    ])
    for (const { status } of restores) assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    await assertRestored('same', shop)
    await assertRestored('mapped', copy)
    assert.equal((await scene.dataDownloads('same')).length, 2)
    assert.equal((await scene.dataDownloads('mapped')).length, 3)
  })

  it('are shown by the description of their restore', async () => {
    const shown = await scene.succeed('restore', 'describe', 'mapped', '--details')
    assert.match(shown, /CSI Snapshot Restores:/)
    for (const { metadata, spec } of await scene.dataDownloads('mapped')) {
      const operation = metadata.labels?.['velero.io/async-operation-id'] ?? ''
      const { pvc } = spec.targetVolume
      assert.match(operation, /^dd-/)
      assert.match(shown, new RegExp(`${copy}/${pvc}:\\s*Data Movement:\\s*Operation ID: ${operation}`))
    }
  })

  /** Makes a claim as a restore does, and a download for it. */
  async function download(
    name: string,
    { from = 'data', claim = {}, spec = {} }: { from?: string; claim?: CsiClaim; spec?: object } = {},
  ): Promise<void> {
    const { spec: uploaded, status } = uploads.get(from) ?? assert.fail(from)
    const manifest = claimManifest(targets, name, claim)
    const selector = { matchLabels: { 'velero.io/dynamic-pv-restore': `${targets}.${name}.test` } }
    await create(
      { ...manifest, spec: { ...manifest.spec, selector } },
      {
        apiVersion: apiVersionOf(DataDownloadKind),
        kind: DataDownloadKind.kind,
        metadata: { name, namespace },
        spec: {
          targetVolume: { namespace: targets, pvc: name, pv: '' },
          backupStorageLocation: uploaded.backupStorageLocation,
          snapshotID: status?.snapshotID,
          sourceNamespace: uploaded.sourceNamespace,
          operationTimeout: '10m',
          ...spec,
        },
      },
    )
  }

  const found = (name: string) => read<DataDownload>('-n', namespace, 'datadownloads.velero.io', name)
  const claimOf = (name: string) => read<Claim>('-n', targets, 'pvc', name)

  const accepted = (name: string) =>
    waitUntil(async () => (await found(name)).status?.phase === 'Accepted', {
      timeoutMs: 120_000,
      failure: () => new Error(`nobody accepts ${name}`),
    })

  async function ended(name: string): Promise<string> {
    let last: DataDownload | undefined
    await waitUntil(
      async () => {
        last = await found(name)
        const isOver = /^(Completed|Failed|Canceled)$/.test(last.status?.phase ?? '')
        return isOver && (last.metadata.finalizers ?? []).length === 0
      },
      {
        timeoutMs: 180_000,
        everyMs: 500,
        failure: () => new Error(`${name} does not end: ${JSON.stringify(last)}`),
      },
    )
    return `${last?.status?.phase}: ${last?.status?.message ?? ''}`
  }

  it('are not given to claims that do not fit, and nothing is left of them', async () => {
    const retained = { class: keeping }
    await Promise.all([
      download('small', { from: 'disk', claim: { mode: 'Block', size: '4Mi' } }),
      download('flat', { from: 'disk' }),
      download('unknown', { claim: retained, spec: { snapshotID: 'no-such-snapshot' } }),
      download('classless', { claim: { class: 'no-such-class' } }),
      download('kept', { claim: retained }),
      download('theirs', { spec: { datamover: 'somebody' } }),
      download('early', { claim: { class: 'csi-waiting' } }),
    ])
    assert.match(await ended('small'), /^Failed: .*large enough/)
    assert.match(await ended('flat'), /^Failed: .*is that of a block volume.*volumeMode: Block/)
    assert.match(await ended('unknown'), /^Failed: .*no-such-snapshot/)
    assert.match(await ended('classless'), /^Failed: .*no-such-class, which does not exist/)
    for (const name of ['small', 'flat', 'unknown', 'classless']) {
      const { spec, status } = await claimOf(name)
      assert.deepEqual([spec.volumeName, status.phase], [undefined, 'Pending'], name)
    }
  })

  it('keep the reclaim policy that they came with', async () => {
    assert.equal(await ended('kept'), 'Completed: ')
    const { spec } = await claimOf('kept')
    const volume = spec.volumeName ?? ''
    assert.equal((await read<Volume>('pv', volume)).spec.persistentVolumeReclaimPolicy, 'Retain')
    await patch(['pv', volume], { spec: { persistentVolumeReclaimPolicy: 'Delete' } })
  })

  it('wait for the pod that decides about their node, and can be cancelled meanwhile', async () => {
    await accepted('early')
    assert.equal((await claimOf('early')).spec.volumeName, undefined)
    const cancel = JSON.stringify({ spec: { cancel: true } })
    await kubectl([
      '-n',
      namespace,
      'patch',
      'datadownloads.velero.io',
      'early',
      '--type=merge',
      '-p',
      cancel,
    ])
    assert.match(await ended('early'), /^Canceled/)
  })

  it("are none of ours when they are another mover's", async () => {
    const { metadata, status } = await found('theirs')
    assert.deepEqual([metadata.finalizers, status], [undefined, undefined])
    await kubectl(['-n', namespace, 'delete', 'datadownloads.velero.io', 'theirs'])
  })

  it('are thrown away when their claim is deleted before they are filled', async () => {
    const name = 'cloud-credentials'
    const { metadata: _, ...secret } = await read<{ metadata: object }>('-n', namespace, 'secret', name)
    // Movers mount it, and do not start without it.
    await kubectl(['-n', namespace, 'delete', 'secret', name])
    await download('gone')
    await accepted('gone')
    await kubectl(['-n', targets, 'delete', 'pvc', 'gone'])
    await create({ ...secret, metadata: { name, namespace } })
    assert.match(await ended('gone'), /^Failed: .*(was deleted|is gone)/)
  })

  /** Makes a download that a node agent has left when it was killed: the mover is done, and the volume is on its way. Returns the volume. */
  async function leftHalfway(
    name: string,
    { way, phase = 'InProgress' }: { way: 'filled' | 'kept' | 'reserved'; phase?: string },
  ): Promise<string> {
    await download(name, { spec: { datamover: 'nobody-yet' } })
    const { apiVersion, kind, metadata } = await found(name)
    const ownerReferences = [{ apiVersion, kind, name, uid: metadata.uid }]
    const claim = claimManifest(namespace, name)
    await create({ ...claim, metadata: { ...claim.metadata, ownerReferences } })
    await kubectl(['-n', namespace, 'wait', '--for=jsonpath={.status.phase}=Bound', `pvc/${name}`, patience])
    const volume = (await read<Claim>('-n', namespace, 'pvc', name)).spec.volumeName ?? ''
    if (way !== 'filled') {
      await patch(['pv', volume], { spec: { persistentVolumeReclaimPolicy: 'Retain' } })
      await kubectl(['-n', namespace, 'delete', 'pvc', name, patience])
      await kubectl(['wait', '--for=jsonpath={.status.phase}=Released', `pv/${volume}`, patience])
    }
    if (way === 'reserved') {
      const { uid } = (await read<{ metadata: { uid: string } }>('-n', targets, 'pvc', name)).metadata
      const claimRef = { namespace: targets, name, uid, resourceVersion: null }
      await patch(['pv', volume], { spec: { claimRef } })
    }
    const [node] = (await read<{ items: { metadata: { name: string } }[] }>('nodes')).items
    await patch(['-n', namespace, 'datadownloads.velero.io', name], {
      metadata: {
        finalizers: ['velero.io/data-upload-download-finalizer'],
        annotations: {
          'lateen.dev/mover-result': '{"target":{"byPath":"/v","volumeMode":"Filesystem"},"totalBytes":9}',
          'lateen.dev/restored-volume': volume,
          'lateen.dev/reclaim-policy': 'Delete',
        },
      },
      spec: { datamover: null },
      status: { phase, node: node?.metadata.name, startTimestamp: '2026-01-01T00:00:00Z' },
    })
    return volume
  }

  it('come to their claims from wherever a node agent has left them, and go where it was given up', async () => {
    const names = ['filled', 'kept', 'reserved', 'given-up', 'given-up-late'] as const
    const [filled, half, reserved, givenUp, late] = await Promise.all([
      leftHalfway('half-filled', { way: 'filled' }),
      leftHalfway('half-kept', { way: 'kept' }),
      leftHalfway('half-reserved', { way: 'reserved' }),
      leftHalfway('half-given-up', { way: 'kept', phase: 'Failed' }),
      leftHalfway('half-given-up-late', { way: 'reserved', phase: 'Canceled' }),
    ])
    const ends = await Promise.all(names.map(name => ended(`half-${name}`)))
    assert.deepEqual(
      ends.map(end => end.split(':')[0]),
      ['Completed', 'Completed', 'Completed', 'Failed', 'Canceled'],
    )
    const given = { 'half-filled': filled, 'half-kept': half, 'half-reserved': reserved }
    for (const [name, volume] of Object.entries({ ...given, 'half-given-up-late': late })) {
      await kubectl(['-n', targets, 'wait', '--for=jsonpath={.status.phase}=Bound', `pvc/${name}`, patience])
      assert.equal((await claimOf(name)).spec.volumeName, volume)
      assert.equal((await read<Volume>('pv', volume)).spec.persistentVolumeReclaimPolicy, 'Delete', name)
    }
    await kubectl(['wait', '--for=delete', `pv/${givenUp}`, patience])
    assert.equal((await claimOf('half-given-up')).spec.volumeName, undefined)
  })

  it('are let go of when their restore is cancelled', async () => {
    const mapped = `--namespace-mappings=${shop}:${unwanted}`
    await scene.succeed('restore', 'create', 'unwanted', '--from-backup=moved', mapped)
    const isTaken = async () =>
      (await scene.dataDownloads('unwanted')).some(({ status }) => status?.acceptedByNode)
    await waitUntil(isTaken, { timeoutMs: 120_000, failure: () => new Error('nobody takes a DataDownload') })
    await whileAgentStands({ cluster: given.cluster, namespace }, () =>
      scene.succeed('restore', 'cancel', 'unwanted', '--confirm'),
    )
    const restore = ['-n', namespace, 'restore', 'unwanted']
    const isOver = async () => {
      const { status } = await read<Restore>(...restore)
      return /^(Completed|Failed|PartiallyFailed)$/.test(status?.phase ?? '') && status
    }
    const failure = () => new Error('the cancelled restore does not end')
    const status = await waitUntil(isOver, { timeoutMs: 120_000, failure })
    assert.match(status.phase ?? '', /^(Failed|PartiallyFailed)$/)
    await waitUntil(
      async () => {
        const phases = (await scene.dataDownloads('unwanted')).map(each => each.status?.phase ?? 'New')
        return phases.every(phase => /^(Canceled|Completed)$/.test(phase)) && phases.includes('Canceled')
      },
      { timeoutMs: 120_000, failure: () => new Error('the downloads of a cancelled restore go on') },
    )
    await kubectl(['delete', 'namespace', unwanted, patience])
  })

  it('go without their downloads, which go with their restore', async () => {
    await scene.succeed('restore', 'delete', 'mapped', '--confirm')
    await waitUntil(async () => (await scene.dataDownloads('mapped')).length === 0, {
      timeoutMs: 120_000,
      failure: () => new Error('the downloads of a deleted restore stay'),
    })
    assert.equal(await csiPod(given.cluster, { namespace: copy }).tree('/data'), written.data)
  })

  it('leave nothing behind', () => scene.nothingIsLeft())
})
