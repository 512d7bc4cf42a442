import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import {
  type BackupRepository,
  backupRepositoryLabels,
  backupRepositoryName,
  type PodVolumeBackup,
  type PodVolumeRestore,
} from '@lateen/api'
import { tool } from '../../tools/binaries/tool.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { createFilesPod, filesPod, filesPodManifest, fsScene } from '../cluster/fs-scene.ts'
import { resticInNodeAgent, signalRestic } from './node-agent-shell.ts'

// Its own, because `velero repo get` lists the repositories of all namespaces, whatever namespace it is given.
const given = await givenCluster({ node: true, s3: true, own: true })
const namespace = 'fs-restic'
const shop = 'fs-restic-shop'
const restored = 'fs-restic-restored'
const waiting = 'fs-restic-waiting'
const password = 'static-passw0rd'

/** Fills two volumes with files of all sorts. */
const fill = [
  'mkdir -p /data/deep/er /data/odd',
  'echo one > /data/one; echo two > /data/deep/er/two; ln -s ../one /data/deep/link; ln /data/one /data/hard',
  'chmod 640 /data/one; chown 1000:2000 /data/deep; touch "/data/odd/ein Name mit Umläuten ü" /data/odd/-dash',
  'dd if=/dev/urandom of=/data/random bs=1M count=8 2>/dev/null',
  'mkdir -p /data/.velero; touch /data/.velero/earlier',
  'echo cached > /cache/file',
].join('; ')

describe("the files in the volumes of a pod, in restic's format", {
  skip: given.skip,
  concurrency: false,
}, async () => {
  const scene = await fsScene(given, { namespace })
  const kubectl = (args: readonly string[], stdin?: object) =>
    given.cluster.kubectl([...args], stdin === undefined ? {} : { stdin: JSON.stringify(stdin) })
  let tree: Record<string, string>
  let snapshots: { data: string; cache: string; other: string }

  /** As Velero calls the repository of the shop. */
  const identifier = () =>
    `s3:${given.cluster.s3.endpoint}/${given.cluster.s3.bucket}/${namespace}/restic/${shop}`
  const resticEnv = () => ({
    HOME: '/tmp',
    RESTIC_REPOSITORY: identifier(),
    RESTIC_PASSWORD: password,
    AWS_ACCESS_KEY_ID: given.cluster.s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: given.cluster.s3.secretAccessKey,
  })

  /** Backs a volume up as Velero's node agent did until 1.16, and returns the short id that it kept. */
  async function backUpVolume(podUid: string, volume: string, backup: string): Promise<string> {
    const tags = { backup, 'backup-uid': 'u-1', pod: 'writer', 'pod-uid': podUid, ns: shop, volume }
    const said = await resticInNodeAgent(given.cluster, namespace, {
      args: [
        ...['backup', '--no-cache', '.'],
        ...Object.entries(tags).map(([key, value]) => `--tag=${key}=${value}`),
        ...['--host=velero', '--json'],
      ],
      cwd: `/host_pods/${podUid}/volumes/kubernetes.io~empty-dir/${volume}`,
      env: resticEnv(),
    })
    const summary = JSON.parse(said.split('\n').findLast(line => line.includes('"summary"')) ?? '{}')
    return String(summary.snapshot_id).slice(0, 8)
  }

  before(async () => {
    const pod = await createFilesPod(given.cluster, {
      namespace: shop,
      volumes: { data: { emptyDir: {} }, cache: { emptyDir: {} } },
    })
    await pod.run(fill)
    tree = { data: await pod.tree('/data'), cache: await pod.tree('/cache') }
    const podUid = await kubectl(['-n', shop, 'get', 'pod', 'writer', '-ojsonpath={.metadata.uid}'])
    await resticInNodeAgent(given.cluster, namespace, { args: ['init', '--no-cache'], env: resticEnv() })
    const [data, cache, other] = await Promise.all([
      backUpVolume(podUid, 'data', 'old'),
      backUpVolume(podUid, 'cache', 'old'),
      backUpVolume(podUid, 'cache', 'other'),
    ])
    snapshots = { data, cache, other }
  })
  after(async () => {
    await kubectl(['delete', 'namespace', shop, restored, waiting, '--wait=false', '--ignore-not-found'])
  })

  const patch = (what: string, body: object) =>
    kubectl(['-n', namespace, 'patch', what, '--type=merge', '-p', JSON.stringify(body)])

  /** A PodVolumeBackup as Velero stored it; before 1.10 it had no type. */
  function stored(
    volume: 'data' | 'cache',
    uploaderType: 'restic' | '',
  ): Pick<PodVolumeBackup, 'metadata' | 'spec' | 'status'> {
    const owner = { apiVersion: 'velero.io/v1', kind: 'Backup', name: 'old', uid: 'u-1', controller: true }
    const labels = { 'velero.io/backup-name': 'old', 'velero.io/backup-uid': 'u-1' }
    return {
      metadata: { name: `old-${volume}`, namespace, labels, ownerReferences: [owner] },
      spec: {
        node: 'gone',
        pod: { kind: 'Pod', namespace: shop, name: 'writer', uid: 'u-2' },
        volume,
        backupStorageLocation: 'default',
        repoIdentifier: identifier(),
        ...(uploaderType && { uploaderType }),
      },
      status: { phase: 'Completed', path: `/host_pods/u-2/${volume}`, snapshotID: snapshots[volume] },
    }
  }

  it('are there again before the pod starts', async () => {
    await scene.succeed('backup', 'create', 'old', `--include-namespaces=${shop}`, '--wait')
    using bucket = new BackupBucket(given.cluster, namespace)
    const volumes = [stored('data', 'restic'), stored('cache', '')]
    await bucket.write('backups/old/old-podvolumebackups.json.gz', gzipSync(JSON.stringify(volumes)))
    await bucket.delete('backups/old/old-volumeinfo')
    await patch('backupstoragelocation/default', { spec: { backupSyncPeriod: '1s' } })
    await kubectl(['-n', namespace, 'delete', 'backups.velero.io', 'old'])
    await waitUntil(async () => (await scene.podVolumeBackups('old')).length === 2, {
      timeoutMs: 90_000,
      failure: () => new Error('the backup did not come back from the bucket'),
    })

    const mapping = `--namespace-mappings=${shop}:${restored}`
    await scene.succeed('restore', 'create', 'old', '--from-backup=old', mapping, '--wait')
    const described = await scene.succeed('restore', 'describe', 'old', '--details')
    assert.match(described, /Phase:\s+Completed/, described)
    assert.match(
      described,
      /^restic Restores:\n {2}Completed:\n {4}fs-restic-restored\/writer: cache\b.*, data\b/m,
      described,
    )
    const pod = filesPod(given.cluster, { namespace: restored })
    await pod.ready()
    assert.deepEqual({ data: await pod.tree('/data'), cache: await pod.tree('/cache') }, tree)
    assert.doesNotMatch(await pod.run('ls -A /data/.velero 2>/dev/null; true'), /earlier/)

    const restores = await scene.podVolumeRestores('old')
    const made = restores.map(({ spec, status }) => {
      const { bytesDone, totalBytes } = status?.progress ?? {}
      const isWhole = bytesDone === totalBytes
      return [spec.volume, [spec.uploaderType, spec.repoIdentifier, spec.snapshotID, status?.phase, isWhole]]
    })
    assert.deepEqual(Object.fromEntries(made), {
      data: ['restic', identifier(), snapshots.data, 'Completed', true],
      cache: ['restic', identifier(), snapshots.cache, 'Completed', true],
    })
    const bytes = restores.find(({ spec }) => spec.volume === 'data')?.status?.progress?.totalBytes ?? 0
    assert.ok(bytes >= 8 * 2 ** 20, `${bytes} bytes`)
    assert.deepEqual(await scene.moverPods(), [])
  })

  it('are in a repository that stands in one list with those in the other format', async () => {
    const key = { volumeNamespace: shop, backupStorageLocation: 'default', repositoryType: 'kopia' } as const
    await kubectl(['-n', namespace, 'create', '-f', '-'], {
      apiVersion: 'velero.io/v1',
      kind: 'BackupRepository',
      metadata: { name: backupRepositoryName(key), labels: backupRepositoryLabels(key) },
      spec: { ...key, maintenanceFrequency: '0s' },
    })
    const types = async () => {
      const { items } = JSON.parse(await scene.succeed('repo', 'get', '-o', 'json')) as {
        items: BackupRepository[]
      }
      return Object.fromEntries(items.map(({ spec, status }) => [spec.repositoryType, status?.phase]))
    }
    await waitUntil(async () => Object.values(await types()).every(phase => phase === 'Ready'), {
      timeoutMs: 60_000,
      failure: async () => new Error(`the repositories are ${JSON.stringify(await types())}`),
    })
    assert.deepEqual(await types(), { kopia: 'Ready', restic: 'Ready' })
    const ours = await scene.succeed('repo', 'get')
    assert.match(ours, new RegExp(`^${shop}-default-kopia +Ready +\\d{4}-`, 'm'))
    assert.match(ours, new RegExp(`^${shop}-default-restic +Ready +\\d{4}-`, 'm'))
    const env = { ...process.env, KUBECONFIG: given.cluster.kubeconfigPath, TZ: 'UTC' }
    const velero = await promisify(execFile)(await tool('velero'), ['-n', namespace, 'repo', 'get'], { env })
    assert.equal(ours, velero.stdout)
    const table = await kubectl(['-n', namespace, 'get', 'backuprepositories'])
    assert.deepEqual(new Set(table.match(/\b(kopia|restic)$/gm)), new Set(['kopia', 'restic']))
  })

  describe('when something is wrong', () => {
    const volumes = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'little']
    let podUid: string

    before(async () => {
      const of = Object.fromEntries(volumes.map(name => [name, { emptyDir: {} }]))
      const little = { emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }
      const manifest = filesPodManifest({ namespace: waiting, volumes: { ...of, little } })
      const mounts = [{ name: 'little', mountPath: '/little' }]
      const wait = {
        name: 'restore-wait',
        image: busyboxImageName,
        imagePullPolicy: 'Never',
        volumeMounts: mounts,
      }
      await ensureNamespace(given.cluster, waiting)
      await kubectl(['create', '-f', '-'], {
        ...manifest,
        spec: { ...manifest.spec, initContainers: [wait] },
      })
      podUid = await kubectl(['-n', waiting, 'get', 'pod', 'writer', '-ojsonpath={.metadata.uid}'])
    })

    const restore = async (volume: string, spec: Partial<PodVolumeRestore['spec']> = {}) => {
      await kubectl(['-n', namespace, 'create', '-f', '-'], {
        apiVersion: 'velero.io/v1',
        kind: 'PodVolumeRestore',
        metadata: { name: `wrong-${volume}` },
        spec: {
          pod: { kind: 'Pod', namespace: waiting, name: 'writer', uid: podUid },
          volume,
          backupStorageLocation: 'default',
          repoIdentifier: identifier(),
          uploaderType: 'restic',
          snapshotID: snapshots.data,
          sourceNamespace: shop,
          ...spec,
        },
      })
    }

    const read = async (volume: string): Promise<PodVolumeRestore> =>
      JSON.parse(
        await kubectl(['-n', namespace, 'get', 'podvolumerestores', `wrong-${volume}`, '-o', 'json']),
      )

    /** Waits until a restore is over and returns how: phase and message. */
    async function outcome(volume: string): Promise<string> {
      let last: PodVolumeRestore | undefined
      const { status } = await waitUntil(
        async () => {
          last = await read(volume)
          return /Completed|Failed|Canceled/.test(last.status?.phase ?? '') && last
        },
        { timeoutMs: 120_000, failure: () => new Error(`not over: ${JSON.stringify(last?.status)}`) },
      )
      assert.ok(status?.startTimestamp && status.completionTimestamp)
      return `${status.phase}: ${status.message}`
    }

    it('its reason is told: a snapshot that is missing, a volume that is full, or none at all', async () => {
      await restore('one', { snapshotID: 'deadbeef', uploaderType: '' })
      await restore('little')
      await restore('nowhere')
      assert.match(await outcome('one'), /^Failed: .*no matching ID found.*list the snapshots/s)
      assert.match(await outcome('little'), /^Failed: .*\/random.*no space left on device.*free some space/s)
      assert.match(await outcome('nowhere'), /^Failed: the volume nowhere of the pod .* does not exist/)
    })

    it('nothing in an object becomes an option of restic, a folder of the node, or a program', async () => {
      await restore('two', { snapshotID: '--target=/tmp' })
      await restore('three', { repoIdentifier: '/host_pods' })
      await restore('four', { repoIdentifier: '--password-command=/lateen' })
      assert.match(await outcome('two'), /^Failed: "--target=\/tmp" is no id of a restic snapshot/)
      assert.match(await outcome('three'), /^Failed: the repository "\/host_pods" is neither in a bucket/)
      assert.match(await outcome('four'), /^Failed: the repository "--password-command=\/lateen" is neither/)
    })

    it('a password that is not the right one is told', async () => {
      const passwordIs = (text: string) =>
        patch('secret/velero-repo-credentials', { stringData: { 'repository-password': text } })
      await passwordIs('another')
      try {
        await restore('five')
        assert.match(await outcome('five'), /^Failed: .*wrong password.*use the password/s)
      } finally {
        // A line end after the password is no part of it.
        await passwordIs(`${password}\n`)
      }
    })

    it('a restic that is killed is told', async () => {
      const kill = await signalRestic(given.cluster, namespace, 'SIGKILL')
      await restore('six')
      await kill.ended()
      assert.match(await outcome('six'), /^Failed: restic restore of .* failed: it was killed by SIGKILL/)
    })

    it('it is stopped when it is cancelled, although restic does not listen', async () => {
      const stop = await signalRestic(given.cluster, namespace, 'SIGSTOP')
      await restore('seven')
      await stop.ended()
      assert.equal((await read('seven')).status?.phase, 'InProgress')
      await patch('podvolumerestore/wrong-seven', { spec: { cancel: true } })
      assert.match(await outcome('seven'), /^Canceled: /)
    })

    it('it does not survive its node agent, and the next one says so', async () => {
      const stop = await signalRestic(given.cluster, namespace, 'SIGSTOP')
      await restore('eight')
      await stop.ended()
      const agent = ['delete', 'pod', '-l', 'name=node-agent', '--grace-period=0', '--force']
      await kubectl(['-n', namespace, ...agent])
      assert.match(await outcome('eight'), /^Failed: the node agent was restarted while it restored/)
    })
  })

  it('are forgotten with their backup, and freed by the next maintenance', async () => {
    using bucket = new BackupBucket(given.cluster, namespace)
    const restic = async (...args: string[]) => {
      const env = { ...process.env, ...resticEnv() }
      return (await promisify(execFile)(await tool('restic'), [...args, '--no-cache'], { env })).stdout
    }
    const kept = async () => {
      const stdout = await restic('snapshots', '--no-lock', '--json')
      return (JSON.parse(stdout) as { short_id: string }[]).map(({ short_id }) => short_id)
    }
    const packs = async () =>
      (await bucket.keys()).filter(key => key.startsWith(`restic/${shop}/data/`)).length
    assert.equal((await kept()).length, 3)
    const before = await packs()
    await scene.succeed('backup', 'delete', 'old', '--confirm', '--wait')
    assert.deepEqual(await kept(), [snapshots.other])
    assert.equal(await packs(), before)

    const name = `backuprepository/${shop}-default-restic`
    await patch(name, { spec: { maintenanceFrequency: '1s' } })
    const runs = async () => {
      const { status } = JSON.parse(
        await kubectl(['-n', namespace, 'get', name, '-o', 'json']),
      ) as BackupRepository
      return status?.recentMaintenance ?? []
    }
    const [run] = await waitUntil(async () => (await runs()).length > 0 && runs(), {
      timeoutMs: 120_000,
      failure: () => new Error('nobody has maintained the repository'),
    })
    await patch(name, { spec: { maintenanceFrequency: '168h' } })
    assert.equal(run?.result, 'Succeeded', run?.message)
    assert.ok((await packs()) < before, `${await packs()} of ${before} packs`)
    assert.deepEqual(await kept(), [snapshots.other])
    assert.match(await restic('check', '--no-lock', '--read-data'), /no errors were found/)
  })
})
