import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { PodVolumeBackup } from '@lateen/api'
import { createKubeClient, type KubeClient, type KubeObject, loadKubeConfig } from '@lateen/kube'
import { registerPodVolumeMetrics } from '../../packages/server/src/metrics/pod-volume-metrics.ts'
import { createMetricsRegistry } from '../../packages/server/src/metrics/registry.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { createFilesPod, type FilesPod, filesPod, fsScene } from './fs-scene.ts'

const given = await givenCluster({ node: true, s3: true })

const namespace = 'fs-settings'
const data = 'fs-settings-data'
const storageClass = 'fs-settings-cache'

const settings = {
  loadConcurrency: { globalConfig: 2 },
  // Velero keeps to nodes with it where it may choose the node; a pod's volume is where its pod is.
  loadAffinity: [{ nodeSelector: { matchLabels: { 'no-such': 'node' } } }],
  cachePVC: { storageClass, residentThresholdInMB: 1 },
  podResources: { cpuRequest: '10m', memoryLimit: '1Gi' },
  podLabels: { team: 'files' },
  podAnnotations: { note: 'moved' },
}

/** What is looked at of a mover's pod. */
interface Mover extends KubeObject {
  spec: {
    securityContext: object
    containers: {
      args: string[]
      resources: object
      securityContext: object
      volumeMounts: { name: string; mountPath: string }[]
    }[]
    volumes: { name: string; ephemeral?: { volumeClaimTemplate: { spec: { storageClassName: string } } } }[]
  }
}

/** What kopia says of a policy. */
interface StoredPolicy {
  target: { path: string }
  upload?: { maxParallelFileReads?: number }
}

const PodKind = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true } as const

/** Keeps the pods of movers that it sees; they go with their work. */
async function collectMovers(
  client: KubeClient,
  signal: AbortSignal,
  seen: Map<string, Mover>,
): Promise<void> {
  const options = { labelSelector: 'velero.io/exposer-pod-group', signal }
  for await (const event of client.resource<Mover>(PodKind, namespace).watch(options)) {
    if (event.type === 'ADDED') seen.set(event.object.metadata.name ?? '', event.object)
  }
}

describe('the settings of file system backups', { skip: given.skip, concurrency: false }, async () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const apply = (...items: object[]) =>
    kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) })
  const over = new AbortController()
  const movers = new Map<string, Mover>()
  let collecting: Promise<void>
  let client: KubeClient
  let pod: FilesPod

  before(async () => {
    const { items } = JSON.parse(await kubectl(['get', 'storageclasses', '-o', 'json'])) as {
      items: { provisioner: string; volumeBindingMode: string }[]
    }
    const [known] = items
    assert.ok(known !== undefined)
    const { provisioner, volumeBindingMode } = known
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { component: 'velero' } } },
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: storageClass },
        ...{ provisioner, volumeBindingMode, reclaimPolicy: 'Delete' },
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'agents', namespace },
        data: { 'settings.json': JSON.stringify(settings) },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'disk', namespace },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16Mi' } } },
      },
    )
  })
  const scene = await fsScene(given, {
    namespace,
    flags: ['--node-agent-configmap=agents', '--filesystem-pvc=disk'],
  })
  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    collecting = collectMovers(client, over.signal, movers).catch(() => {})
    pod = await createFilesPod(given.cluster, {
      namespace: data,
      volumes: { small: { emptyDir: {} }, large: { emptyDir: {} } },
    })
    await pod.run('echo one > /small/one; dd if=/dev/urandom of=/large/two bs=1M count=2 2>/dev/null')
    await pod.run('dd if=/dev/zero of=/large/hole bs=1 count=1 seek=33554432 2>/dev/null')
  })
  after(async () => {
    over.abort()
    await collecting
    await client[Symbol.asyncDispose]()
    const names = [data, 'fs-settings-two', 'fs-settings-three']
    await kubectl(['delete', 'namespace', ...names, '--wait=false', '--ignore-not-found'])
    await kubectl(['delete', 'storageclass', storageClass, '--ignore-not-found'])
  })

  const backUp = (name: string, ...more: string[]) =>
    scene.succeed(
      ...[
        'backup',
        'create',
        name,
        `--include-namespaces=${data}`,
        '--default-volumes-to-fs-backup',
        '--wait',
      ],
      ...more,
    )

  const securityOf = ({ spec }: Pick<Mover, 'spec'>) => [
    spec.securityContext,
    spec.containers[0]?.securityContext,
  ]

  /** The pod of a move's mover. */
  const moverOf = ({ metadata }: KubeObject): Mover => {
    const mover = movers.get(metadata.name ?? '')
    assert.ok(mover !== undefined, `no mover of ${metadata.name} was seen`)
    return mover
  }

  it('reach the movers of backups, and the repository', async t => {
    await backUp('first', '--parallel-files-upload=3')
    const backups = await scene.podVolumeBackups('first')
    assert.equal(backups.length, 2)
    for (const backup of backups) {
      const { metadata, spec } = moverOf(backup)
      assert.deepEqual([metadata.labels?.team, metadata.annotations?.note], ['files', 'moved'])
      assert.deepEqual(spec.containers[0]?.resources, {
        limits: { memory: '1Gi' },
        requests: { cpu: '10m', memory: '1Gi' },
      })
      assert.deepEqual(
        spec.volumes.filter(({ ephemeral }) => ephemeral),
        [],
      )
    }
    const agent = JSON.parse(await kubectl(['-n', namespace, 'get', 'daemonset', 'node-agent', '-o', 'json']))
    const [one] = backups
    assert.ok(one !== undefined)
    assert.deepEqual(securityOf(moverOf(one)), securityOf(agent.spec.template))
    const repository = await scene.kopia(t, data)
    const policies = await repository.json<StoredPolicy[]>(['policy', 'list'])
    const ofVolumes = policies.filter(({ target }) => target.path.startsWith('snapshot-pod-volume/'))
    assert.deepEqual(
      ofVolumes.map(({ upload }) => upload?.maxParallelFileReads),
      [3, 3],
    )
  })

  it('give restores of large volumes a volume to cache in, which goes with them, and files with holes', async () => {
    await scene.succeed(
      ...[
        'restore',
        'create',
        'first',
        '--from-backup=first',
        `--namespace-mappings=${data}:fs-settings-two`,
      ],
      ...['--write-sparse-files', '--parallel-files-download=2', '--wait'],
    )
    const restores = await scene.podVolumeRestores('first')
    const cached = Object.fromEntries(
      restores.map(restore => {
        const { spec } = moverOf(restore)
        const volume = spec.volumes.find(({ ephemeral }) => ephemeral)
        const { args = [], volumeMounts = [] } = spec.containers[0] ?? {}
        return [
          restore.spec.volume,
          {
            storageClass: volume?.ephemeral?.volumeClaimTemplate.spec.storageClassName,
            told: args.find(arg => arg.startsWith('--cache-volume-path=')),
            mountedAt: volumeMounts.find(({ name }) => name === volume?.name)?.mountPath,
          },
        ]
      }),
    )
    assert.deepEqual(cached, {
      large: { storageClass, told: '--cache-volume-path=/cachedir', mountedAt: '/cachedir' },
      small: { storageClass: undefined, told: undefined, mountedAt: undefined },
    })
    const restored = filesPod(given.cluster, { namespace: 'fs-settings-two' })
    await restored.ready()
    assert.equal(await restored.tree('/large'), await pod.tree('/large'))
    const blocks = Number(await restored.run('stat -c %b /large/hole'))
    assert.ok(blocks < 2048, `${blocks} blocks of 512 bytes for a file of 32 MiB with nothing in it`)
    const claims = async () => kubectl(['get', 'pvc', '-n', namespace, '-o', 'name'])
    await waitUntil(async () => (await claims()) === 'persistentvolumeclaim/disk\n', {
      timeoutMs: 60_000,
      failure: async () => new Error(`claims are left: ${await claims()}`),
    })
  })

  it('are counted by the node agent as Velero counts', async () => {
    const [agent = ''] = (
      await kubectl([
        'get',
        'pods',
        '-n',
        namespace,
        '-l',
        'name=node-agent',
        '-o=jsonpath={.items[*].metadata.name}',
      ])
    ).split(' ')
    const shown = await kubectl([
      'get',
      '--raw',
      `/api/v1/namespaces/${namespace}/pods/${agent}:8085/proxy/metrics`,
    ])
    const registry = createMetricsRegistry()
    registerPodVolumeMetrics(registry)
    for (const { name, type } of registry.families.filter(family => family.name.startsWith('podVolume_'))) {
      assert.match(shown, new RegExp(`^# TYPE ${name} ${type}$`, 'm'))
    }
    const value = (series: RegExp) => [...shown.matchAll(series)].map(([, number]) => Number(number))
    assert.deepEqual(value(/^podVolume_pod_volume_backup_enqueue_count\{node="[^"]+"\} (\d+)$/gm), [2])
    assert.deepEqual(value(/^podVolume_pod_volume_backup_dequeue_count\{node="[^"]+"\} (\d+)$/gm), [2])
    const [backup] = (await scene.podVolumeBackups('first')) as [PodVolumeBackup]
    const operation = `${backup.metadata.name}-default-${data}-kopia-backup`
    const ofIt = `operation="${operation}",backupName="${namespace}/first",pod_volume_backup="${backup.metadata.name}"`
    assert.match(
      shown,
      new RegExp(`podVolume_pod_volume_operation_latency_seconds_gauge\\{node="[^"]+",${ofIt}\\}`),
    )
    const ended = (work: string) =>
      value(
        new RegExp(
          `^lateen_pod_volume_moves_total\\{node="[^"]+",work="${work}",result="Completed"\\} (\\d+)$`,
          'gm',
        ),
      )
    assert.deepEqual([ended('backup'), ended('restore')], [[2], [2]])
    assert.match(shown, /^process_resident_memory_bytes \d+$/m)
  })

  it('let a folder be the location, which movers find where the node agent has it', async () => {
    const config = '--config=path=/backups,createBucket=true'
    await scene.succeed(
      'backup-location',
      'create',
      'folder',
      '--provider=filesystem',
      '--bucket=kept',
      config,
    )
    const available = ['wait', '--for=jsonpath={.status.phase}=Available', 'backupstoragelocation/folder']
    await kubectl(['-n', namespace, ...available, '--timeout=120s'])
    await backUp('in-folder', '--storage-location=folder')
    await scene.succeed(
      ...[
        'restore',
        'create',
        'folder',
        '--from-backup=in-folder',
        `--namespace-mappings=${data}:fs-settings-three`,
      ],
      '--wait',
    )
    const restored = filesPod(given.cluster, { namespace: 'fs-settings-three' })
    await restored.ready()
    assert.equal(await restored.tree('/large'), await pod.tree('/large'))
    assert.equal(await restored.tree('/small'), await pod.tree('/small'))
    // The server is not root, as movers are, and forgets snapshots in what they wrote.
    await scene.succeed('backup', 'delete', 'in-folder', '--confirm', '--wait')
  })
})
