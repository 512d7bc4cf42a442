import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { PodVolumeBackup } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { kopiaRepository } from '../compat/kopia.ts'
import { waitingPodManifest } from './fs-fault-pods.ts'
import { agentFlags, faultScene, type PodRef } from './fs-fault-scene.ts'
import { createFilesPod, type FilesPod, fsScene } from './fs-scene.ts'
import { type GatedBucket, type GatedBuckets, openGatedBuckets } from './gated-buckets.ts'

const given = await givenCluster({ node: true, s3: true })
const installation = 'fs-faults-mover'
const shop = 'fs-faults-mover-shop'
const usual = { loadConcurrency: { globalConfig: 6 } }

describe('file system backups whose movers meet with faults', {
  skip: given.skip,
  concurrency: false,
}, async () => {
  const kubectl = (...args: string[]) => given.cluster.kubectl(args)
  const faults = faultScene(given, installation)
  before(() => faults.configureAgents(usual))
  const scene = await fsScene(given, { namespace: installation, flags: agentFlags })
  let files: FilesPod
  let pod: PodRef
  let buckets: GatedBuckets

  const inInstallation = (...args: string[]) => kubectl('-n', installation, ...args)
  const patchAgents = (patch: object) =>
    inInstallation('patch', 'daemonset', 'node-agent', '--type=strategic', '-p', JSON.stringify(patch))

  /** Replaces the node agent, which reads its settings anew. */
  async function restartAgent(): Promise<void> {
    await inInstallation('delete', 'pod', '-l', 'name=node-agent', '--wait=true', '--grace-period=1')
    await waitUntil(
      async () => {
        const args = [
          'get',
          'pods',
          '-l',
          'name=node-agent',
          '-ojsonpath={.items[*].status.containerStatuses[*].ready}',
        ]
        return (await inInstallation(...args)) === 'true'
      },
      { timeoutMs: 120_000, everyMs: 300, failure: () => new Error('the node agent does not come back') },
    )
  }

  const isOver = async (name: string) => {
    const phase = ['--ignore-not-found', '-ojsonpath={.status.phase}']
    return /^(Failed|Completed|Canceled)$/.test(
      await inInstallation('get', 'podvolumebackup', name, ...phase),
    )
  }

  /** Waits until there is or was a pod for a PodVolumeBackup, so that what movers are made after may change again. */
  const hasMover = (name: string) =>
    waitUntil(
      async () =>
        (await inInstallation('get', 'pod', name, '--ignore-not-found', '-o', 'name')) !== '' || isOver(name),
      {
        timeoutMs: 60_000,
        everyMs: 300,
        failure: () => new Error(`there is no mover for ${name}`),
      },
    )

  async function failsWith(name: string, says: RegExp): Promise<PodVolumeBackup> {
    const object = await faults.backedUp(name)
    const { phase, message = '' } = object.status ?? {}
    assert.equal(phase, 'Failed', `${name}: ${message}`)
    assert.match(message, says, name)
    assert.doesNotMatch(message, /\n|\.[jt]s:\d|\bat \w+ \(/, name)
    return object
  }

  async function completes(name: string, volume = 'data'): Promise<void> {
    await faults.backUp({ name, pod, volume })
    const { status } = await faults.backedUp(name)
    assert.equal(status?.phase, 'Completed', status?.message)
  }

  before(async () => {
    buckets = await openGatedBuckets(given.cluster)
    files = await createFilesPod(given.cluster, {
      namespace: shop,
      volumes: { data: { emptyDir: {} }, large: { emptyDir: {} } },
    })
    pod = await faults.pod(shop, files.name)
    await faults.create(waitingPodManifest(shop, 'leaving', { data: { emptyDir: {} } }))
    await files.run('echo data > /data/file; dd if=/dev/urandom of=/large/file bs=1M count=50 2>/dev/null')
    const container = {
      name: 'node-agent',
      args: ['node-agent', 'server', '--node-agent-configmap=agents', '--data-mover-prepare-timeout=60s'],
    }
    await patchAgents({
      spec: {
        updateStrategy: { type: 'OnDelete', rollingUpdate: null },
        template: { spec: { containers: [container] } },
      },
    })
    await restartAgent()
  })
  after(async () => {
    await buckets[Symbol.asyncDispose]()
    await kubectl('delete', 'namespace', shop, '--wait=false', '--ignore-not-found')
  })

  it('tell of a mover that cannot start what its pod waits for, and go on without it', async () => {
    await completes('before')
    const missing = (more: object) => ({
      volumes: [{ name: 'missing', ...more }],
      containers: [
        { name: 'node-agent', volumeMounts: [{ name: 'missing', mountPath: '/missing', ...more }] },
      ],
    })
    const secret = missing({})
    secret.volumes = [{ name: 'missing', ...{ secret: { secretName: 'nowhere-to-be-found' } } }]
    await patchAgents({ spec: { template: { spec: secret } } })
    await faults.backUp({ name: 'pending', pod, volume: 'data' })
    const leaving = await faults.pod(shop, 'leaving')
    await faults.restore({ name: 'nobody-waits', pod: leaving, volume: 'data', snapshotID: 'any' })
    await hasMover('pending')
    await hasMover('nobody-waits')
    await kubectl('-n', shop, 'delete', 'pod', 'leaving', '--wait=true')
    await patchAgents({ spec: { template: { spec: missing({ $patch: 'delete' }) } } })
    const image = await inInstallation(
      'get',
      'daemonset',
      'node-agent',
      '-ojsonpath={.spec.template.spec.containers[0].image}',
    )
    await patchAgents({
      spec: { template: { spec: { containers: [{ name: 'node-agent', image: 'nowhere/to-be:found' }] } } },
    })
    await faults.backUp({ name: 'no-image', pod, volume: 'data' })
    await hasMover('no-image')
    await patchAgents({ spec: { template: { spec: { containers: [{ name: 'node-agent', image }] } } } })
    await failsWith('no-image', /ErrImageNeverPull.*nowhere\/to-be:found.*DaemonSet/)
    const { status } = await faults.restored('nobody-waits')
    assert.equal(status?.phase, 'Failed')
    assert.match(status?.message ?? '', /the pod fs-faults-mover-shop\/leaving (is gone|has ended)/)
    await completes('beside')
  })

  it('fail where the data they were to take went away in the middle', async t => {
    const [bucketGone, podGone, evicted] = await Promise.all(
      ['fs-faults-bucket-gone', 'fs-faults-pod-gone', 'fs-faults-evicted'].map(name => buckets.bucket(name)),
    )
    assert.ok(bucketGone && podGone && evicted)
    const doomed = await createFilesPod(given.cluster, {
      namespace: shop,
      name: 'doomed',
      volumes: { data: { emptyDir: {} } },
    })
    await doomed.run('dd if=/dev/urandom of=/data/file bs=1M count=50 2>/dev/null')
    await faults.create(...[bucketGone, podGone, evicted].map(bucket => bucket.location(installation)))
    const doomedRef = await faults.pod(shop, 'doomed')
    const begin = async (
      name: string,
      { of, volume }: { of: PodRef; volume: string },
      bucket: GatedBucket,
    ) => {
      const waits = bucket.closed()
      await faults.backUp({ name, pod: of, volume, spec: { backupStorageLocation: bucket.name } })
      await waits
    }
    await Promise.all([
      begin('bucket-gone', { of: pod, volume: 'data' }, bucketGone),
      begin('pod-gone', { of: doomedRef, volume: 'data' }, podGone),
      begin('evicted', { of: pod, volume: 'large' }, evicted),
    ])
    // Other blobs of the same moment may still be written.
    await rm(bucketGone.folder, { recursive: true, maxRetries: 20, retryDelay: 100 })
    await kubectl('-n', shop, 'delete', 'pod', 'doomed', '--wait=true')
    const evict = {
      status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    }
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify(evict)]
    for (const bucket of [bucketGone, podGone]) bucket.open()
    // The kubelet writes every ten seconds what it knows of its pods.
    await untilSeen('that the node agent has seen the eviction', async () => {
      await inInstallation('patch', 'pod', 'evicted', ...patch).catch(() => '')
      return isOver('evicted')
    })
    // Its mover runs on, and must not be done before the node agent has seen what became of its pod.
    t.diagnostic(
      (await failsWith('evicted', /Evicted: The node was low on resource: memory.*podResources/)).status
        ?.message ?? '',
    )
    evicted.open()
    const gone = await failsWith('bucket-gone', /fs-faults-bucket-gone.*(does not exist|NoSuchBucket)/)
    t.diagnostic(gone.status?.message ?? '')
    const told = await faults.told(gone)
    assert.match(
      told.get('Data-Path-Failed') ?? '',
      /^Data path for bucket-gone failed, error .*fs-faults-bucket-gone/,
    )
    assert.ok(
      told.has('Data-Path-Started') && told.has('Data-Path-Stopped') && !told.has('Data-Path-Completed'),
    )
    t.diagnostic(
      (await failsWith('pod-gone', /the pod fs-faults-mover-shop\/doomed is gone.*Try again/)).status
        ?.message ?? '',
    )
  })

  it('tell how far they are while they work, and what came of it', async () => {
    const bucket = await buckets.bucket('fs-faults-slow')
    await faults.create(bucket.location(installation))
    const full = await createFilesPod(given.cluster, {
      ...{ namespace: shop, name: 'full', volumes: { data: { emptyDir: {} } } },
    })
    await full.run('for n in 1 2 3 4 5 6 7 8; do head -c 20000000 /dev/urandom > /data/$n; done')
    const move = {
      pod: await faults.pod(shop, 'full'),
      volume: 'data',
      spec: { backupStorageLocation: bucket.name },
    }
    const waits = bucket.closed()
    await faults.backUp({ name: 'slow', ...move })
    await waits
    // A mover tells of what it has read when it reads on, and it does that when it has stored something.
    const progress = await waitUntil(
      async () => {
        await delay(2_000)
        const { status }: PodVolumeBackup = JSON.parse(
          await inInstallation('get', 'podvolumebackup', 'slow', '-o', 'json'),
        )
        assert.equal(status?.phase, 'InProgress')
        if (status.progress?.bytesDone && status.progress.totalBytes) return status.progress
        bucket.open()
        void bucket.closed()
        return undefined
      },
      { timeoutMs: 60_000, failure: () => new Error('the mover tells of no progress') },
    )
    assert.equal(progress.totalBytes, 160_000_000)
    assert.ok((progress.bytesDone ?? 0) <= 160_000_000, JSON.stringify(progress))
    const cancel = JSON.stringify({ spec: { cancel: true } })
    await inInstallation('patch', 'podvolumebackup', 'slow', '--type=merge', '-p', cancel)
    const canceled = await faults.backedUp('slow')
    assert.equal(canceled.status?.phase, 'Canceled', canceled.status?.message)
    bucket.open()
    const reasons = ['Started', 'Progress', 'Canceling', 'Canceled', 'Stopped']
    assert.deepEqual(
      new Set((await faults.told(canceled)).keys()),
      new Set(reasons.map(reason => `Data-Path-${reason}`)),
    )
    await faults.backUp({ name: 'whole', ...move })
    const whole = await faults.backedUp('whole')
    assert.equal(whole.status?.phase, 'Completed', whole.status?.message)
    const { snapshotID, source } = JSON.parse((await faults.told(whole)).get('Data-Path-Completed') ?? '')
    assert.equal(snapshotID, whole.status.snapshotID)
    assert.equal(source.volumeMode, 'Filesystem')
  })

  it('fail where the pod goes that data are restored for', async () => {
    const bucket = await buckets.bucket('fs-faults-restored')
    await faults.create(
      bucket.location(installation),
      waitingPodManifest(shop, 'going', { data: { emptyDir: {} } }),
    )
    const spec = { backupStorageLocation: bucket.name }
    await faults.backUp({ name: 'to-restore', pod, volume: 'large', spec })
    const { status: backedUp } = await faults.backedUp('to-restore')
    assert.equal(backedUp?.phase, 'Completed', backedUp?.message)
    const waits = bucket.closed()
    const going = await faults.pod(shop, 'going')
    const snapshotID = backedUp?.snapshotID ?? ''
    await faults.restore({ name: 'target-gone', pod: going, volume: 'data', snapshotID, spec })
    await waits
    await kubectl('-n', shop, 'delete', 'pod', 'going', '--wait=true')
    bucket.open()
    const { status } = await faults.restored('target-gone')
    assert.equal(status?.phase, 'Failed', status?.message)
    assert.match(status?.message ?? '', /the pod fs-faults-mover-shop\/going is gone|is not restored: ENOENT/)
    await faults.moversGone(['target-gone'])
  })

  it('fail without the right password, and while the repository is locked, and work again', async t => {
    const locked = 'fs-faults-mover-locked'
    const other = await createFilesPod(given.cluster, {
      namespace: locked,
      volumes: { data: { emptyDir: {} } },
    })
    t.after(() => kubectl('delete', 'namespace', locked, '--wait=false'))
    await other.run('echo data > /data/file')
    const lock = await lockedRepository(t, `${installation}/kopia/${locked}/`)
    const inLocked = { pod: await faults.pod(locked, other.name), volume: 'data' }
    await faults.backUp({ name: 'locked', ...inLocked })
    t.diagnostic((await failsWith('locked', /lock/)).status?.message ?? '')
    await lock.rollback()
    // It is looked at again in some minutes, or when it is asked for anew.
    await inInstallation('delete', 'backuprepositories', '-l', `velero.io/volume-namespace=${locked}`)
    const password = (text: string) => {
      const data = { 'repository-password': Buffer.from(text).toString('base64') }
      return inInstallation('patch', 'secret', 'velero-repo-credentials', '-p', JSON.stringify({ data }))
    }
    await password('wrong')
    await faults.backUp({ name: 'wrong-password', pod, volume: 'data' })
    t.diagnostic(
      (await failsWith('wrong-password', /password does not open.*velero-repo-credentials/)).status
        ?.message ?? '',
    )
    await password('static-passw0rd')
    await completes('unlocked')
    await faults.backUp({ name: 'unlocked-too', ...inLocked })
    assert.equal((await faults.backedUp('unlocked-too')).status?.phase, 'Completed')
  })

  it('tell which resources a mover could not get, by the settings of the node agent', async t => {
    await faults.configureAgents({ ...usual, podResources: { cpuRequest: '1000' } })
    await restartAgent()
    await faults.backUp({ name: 'too-many-cpus', pod, volume: 'data' })
    t.diagnostic(
      (await failsWith('too-many-cpus', /OutOfcpu.*podResources\.cpuRequest/)).status?.message ?? '',
    )
    await faults.configureAgents({ ...usual, podResources: { memoryLimit: '24Mi' } })
    await restartAgent()
    await faults.backUp({ name: 'little-memory', pod, volume: 'large' })
    t.diagnostic(
      (await failsWith('little-memory', /exit code 137.*podResources\.memoryLimit/)).status?.message ?? '',
    )
    await faults.configureAgents(usual)
    await restartAgent()
  })

  it('give up a pod that does not come up in time, and leave nothing behind', async t => {
    t.diagnostic(
      (await failsWith('pending', /timeout on preparing.*Pending.*FailedMount.*nowhere-to-be-found/)).status
        ?.message ?? '',
    )
    await scene.settled()
    await scene.succeed(
      'backup',
      'create',
      'after',
      `--include-namespaces=${shop}`,
      '--default-volumes-to-fs-backup',
      '--wait',
    )
    assert.match(await scene.succeed('backup', 'describe', 'after'), /Phase:\s+Completed/)
    const repository = await scene.kopia(t, shop)
    const snapshots = await repository.json<{ id: string }[]>(['snapshot', 'list', '--all'])
    const ids = new Set(snapshots.map(({ id }) => id))
    for (const { metadata, spec, status } of await scene.podVolumeBackups()) {
      if (spec.pod.namespace !== shop || spec.backupStorageLocation !== 'default') continue
      if (status?.phase === 'Completed') assert.ok(ids.has(status.snapshotID ?? ''), metadata.name)
    }
    await repository.verify()
  })
})

/** A repository that `kopia` made, as old as Velero's were, and begins to upgrade. */
async function lockedRepository(t: TestContext, prefix: string): Promise<{ rollback(): Promise<unknown> }> {
  process.env.KOPIA_UPGRADE_LOCK_ENABLED = '1'
  const { kopia } = await kopiaRepository(t, {
    storage: { ...given.cluster.s3, prefix },
    createFlags: ['--format-version=2'],
    username: 'default',
    hostname: 'default',
  })
  const owner = '--upgrade-owner-id=tester'
  await kopia(['repository', 'upgrade', 'begin', '--lock-only', owner])
  return { rollback: () => kopia(['repository', 'upgrade', 'rollback', '--force', owner]) }
}
