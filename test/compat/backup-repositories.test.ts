import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type BackupRepository,
  BackupRepositoryKind,
  backupRepositoryLabels,
  backupRepositoryName,
} from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import { openServerScene, type ServerScene } from '../cluster/backup-server-scene.ts'
import { createLocation } from '../cluster/backups.ts'
import { prepareCluster } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'
import { kopiaRepository, kopiaSkip } from './kopia.ts'

const given = await givenCluster({ s3: true })
const skip = given.skip || (await kopiaSkip()) || (await veleroMissing())

/** A repository object as a backup of volumes would make it. */
function repositoryOf(volumeNamespace: string, frequency = '0s'): BackupRepository {
  const key = { volumeNamespace, backupStorageLocation: 'default', repositoryType: 'kopia' } as const
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupRepository',
    metadata: { name: backupRepositoryName(key), labels: backupRepositoryLabels(key) },
    spec: { ...key, maintenanceFrequency: frequency },
  }
}

function repositoriesIn(client: KubeClient, namespace: string) {
  const resource = client.resource(BackupRepositoryKind, namespace)
  const until = (name: string, accepts: (repository: BackupRepository) => boolean) => {
    let last: BackupRepository | undefined
    return waitUntil(
      async () => {
        last = await resource.get(name)
        return accepts(last) ? last : undefined
      },
      { timeoutMs: 60_000, failure: () => new Error(`${name} stayed at ${JSON.stringify(last)}`) },
    )
  }
  return { create: (repository: BackupRepository) => resource.create(repository), until, resource }
}

describe('a BackupRepository', { skip, concurrency: false }, () => {
  let scene: ServerScene
  let repositories: ReturnType<typeof repositoriesIn>

  before(async () => {
    scene = await openServerScene(given.cluster, 'repositories')
    repositories = repositoriesIn(scene.client, scene.namespace)
    await scene.start()
  })
  after(() => scene?.[Symbol.asyncDispose]())

  it('is made in the bucket, where kopia opens it with the password of the Secret', async t => {
    await repositories.create(repositoryOf('shop'))
    const ready = await repositories.until('shop-default-kopia', ({ status }) => status?.phase === 'Ready')
    assert.equal(ready.spec.maintenanceFrequency, '1h0m0s')
    assert.ok(ready.status?.lastMaintenanceTime)
    const secret = JSON.parse(
      await given.cluster.kubectl([
        'get',
        'secret',
        'velero-repo-credentials',
        '-n',
        scene.namespace,
        '-o',
        'json',
      ]),
    ) as { data: Partial<Record<string, string>> }
    const password = Buffer.from(secret.data['repository-password'] ?? '', 'base64').toString()
    const keys = (await scene.bucket.keys()).filter(key => key.startsWith('kopia/'))
    assert.ok(keys.includes('kopia/shop/udmrepo.Repository'), keys.join())
    const prefix = `${scene.namespace}/kopia/shop/`
    const repository = await kopiaRepository(t, {
      storage: { ...given.cluster.s3, prefix },
      connect: true,
      password,
      username: 'default',
      hostname: 'default',
    })
    const info = await repository.json<{ owner: string }>(['maintenance', 'info'])
    assert.equal(info.owner, 'default@default')
  })

  it('says why it cannot be used, and can be used once that is mended', async () => {
    const { spec } = await scene.locations.get('default')
    const config = { ...spec.config, s3Url: 'http://127.0.0.1:1' }
    await scene.locations.patch('default', { config })
    const lost = await repositories.until('shop-default-kopia', ({ status }) => status?.phase === 'NotReady')
    assert.match(lost.status?.message ?? '', /kopia\/shop\/: nothing answers/)
    await scene.locations.patch('default', { config: spec.config })
    await repositories.until('shop-default-kopia', ({ status }) => status?.phase === 'Ready')
  })

  it('of a location that does not exist says so', async () => {
    const repository = repositoryOf('elsewhere')
    repository.spec.backupStorageLocation = 'nowhere'
    await repositories.create(repository)
    const lost = await repositories.until(
      'elsewhere-default-kopia',
      ({ status }) => status?.phase === 'NotReady',
    )
    assert.match(lost.status?.message ?? '', /location nowhere does not exist/)
  })

  it('whose provider keeps no volume data names the provider', async () => {
    await scene.locations.create('cloud', { provider: 'azure', objectStorage: { bucket: 'one' } })
    const repository = repositoryOf('cloudy')
    repository.spec.backupStorageLocation = 'cloud'
    await repositories.create(repository)
    const lost = await repositories.until(
      'cloudy-default-kopia',
      ({ status }) => status?.phase === 'NotReady',
    )
    assert.match(lost.status?.message ?? '', /provider "azure"/)
  })

  it('that nobody can maintain says why, and is left alone for a while', async () => {
    await repositories.create(repositoryOf('hasty', '1s'))
    const failed = await repositories.until(
      'hasty-default-kopia',
      ({ status }) => (status?.recentMaintenance ?? []).length > 0,
    )
    const [run] = failed.status?.recentMaintenance ?? []
    assert.equal(run?.result, 'Failed')
    assert.match(run?.message ?? '', /Failed to start maintenance job, err: .*velero.* not found/)
  })
})

describe('the Job that maintains a repository', { skip, concurrency: false }, () => {
  let scene: ServerScene
  const theirs = `their-repositories-${process.pid}`

  before(async () => {
    scene = await openServerScene(given.cluster, 'our-repositories')
    await prepareCluster(given.cluster, theirs)
    await createLocation(
      { cluster: given.cluster, client: scene.client, namespace: theirs },
      { prefix: theirs, secret: false },
    )
  })
  after(async () => {
    await given.cluster.kubectl(['delete', 'namespace', theirs, '--wait=false'])
    await scene?.[Symbol.asyncDispose]()
  })

  it("is made from the server's Deployment as Velero makes it", async () => {
    const settings = {
      global: JSON.stringify({
        podResources: { cpuRequest: '100m', memoryLimit: '512Mi', cpuLimit: '0', memoryRequest: '0' },
        loadAffinity: [
          {
            nodeSelector: {
              matchLabels: { disk: 'fast' },
              matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['far'] }],
            },
          },
        ],
        podLabels: { team: 'storage' },
        priorityClassName: 'system-cluster-critical',
      }),
    }
    for (const namespace of [scene.namespace, theirs]) await prepareJobs(namespace, settings)
    await scene.start({
      repositories: { maintenanceFrequency: 0, configMap: '', maintenanceConfigMap: 'jobs' },
    })
    const flags = ['--repo-maintenance-job-configmap', 'jobs']
    await using _velero = await startVeleroServer({ cluster: given.cluster, namespace: theirs, flags })
    for (const namespace of [scene.namespace, theirs]) {
      // Velero looks at new ones, and then for five minutes at none.
      const status = { phase: 'Ready', lastMaintenanceTime: '2026-01-01T00:00:00Z' } as const
      await repositoriesIn(scene.client, namespace).create({ ...repositoryOf('shop', '1h'), status })
    }
    const [our, their] = [await firstJob(scene.namespace), await firstJob(theirs)]
    const { server: _, ...rest } = our
    assert.deepEqual(rest, (({ server: _theirs, ...other }) => other)(their))
  })

  async function prepareJobs(namespace: string, data: Record<string, string>): Promise<void> {
    const container = {
      name: 'velero',
      image: 'example.org/server:v1',
      command: ['/velero'],
      args: ['server'],
      env: [{ name: 'VELERO_SCRATCH_DIR', value: '/scratch' }],
      envFrom: [{ configMapRef: { name: 'more', optional: true } }],
      volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
      securityContext: { runAsNonRoot: true, readOnlyRootFilesystem: true },
    }
    const labels = { deploy: 'velero', 'azure.workload.identity/use': 'true' }
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'velero', namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: { deploy: 'velero' } },
        template: {
          metadata: { labels, annotations: { 'iam.amazonaws.com/role': 'backup', other: 'no' } },
          spec: {
            serviceAccountName: 'velero',
            securityContext: { fsGroup: 65532 },
            imagePullSecrets: [{ name: 'registry' }],
            tolerations: [
              { key: 'CriticalAddonsOnly', operator: 'Exists' },
              { key: 'mine', operator: 'Exists' },
            ],
            containers: [container],
            volumes: [{ name: 'scratch', emptyDir: {} }],
          },
        },
      },
    }
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'jobs', namespace }, data }
    for (const object of [deployment, configMap]) {
      await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) })
    }
  }

  /** What matters of the first Job in a namespace, without what the API server made up. */
  async function firstJob(namespace: string): Promise<Record<string, unknown> & { server: string }> {
    interface ListedJob {
      metadata: { name: string; labels: Record<string, string> }
      spec: { backoffLimit: number; template: { metadata: { labels: Record<string, string> }; spec: object } }
    }
    const job = await waitUntil(
      async () => {
        const list = await given.cluster.kubectl(['get', 'jobs', '-n', namespace, '-o', 'json'])
        return (JSON.parse(list) as { items: ListedJob[] }).items[0]
      },
      { timeoutMs: 120_000, failure: () => new Error(`no Job in ${namespace}`) },
    )
    const { template, backoffLimit } = job.spec
    const labels = Object.entries(template.metadata.labels).filter(
      ([key]) => !/controller-uid|job-name/.test(key),
    )
    return {
      server: namespace,
      name: job.metadata.name.replace(/\d{13}$/, '<time>'),
      label: job.metadata.labels['velero.io/repo-name'],
      backoffLimit,
      labels: Object.fromEntries(labels),
      annotations: (template.metadata as { annotations?: object }).annotations ?? {},
      spec: withoutLogFormat(template.spec),
    }
  }
})

/** Our servers log in JSON in tests, and the Job as its server does. */
function withoutLogFormat(spec: object): object {
  const [container] = (spec as { containers: { args: string[] }[] }).containers
  assert.ok(container)
  const args = container.args.filter(arg => !arg.startsWith('--log-format='))
  assert.equal(args.length, container.args.length - 1)
  return { ...spec, containers: [{ ...container, args }] }
}
