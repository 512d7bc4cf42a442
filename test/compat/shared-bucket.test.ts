import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import {
  type Backup,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  PodVolumeBackupKind,
} from '@lateen/api'
import { createKubeClient, isNotFound, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { startVeleroServer, type VeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { foreignVolume, putForeignBackup } from '../cluster/foreign-backups.ts'
import { Restores } from '../cluster/restores.ts'
import { Locations, prepareCluster, startServer } from '../cluster/storage-location-harness.ts'
import { deploymentOfServer, givenTwins, serverNamespace } from './restore-twins.ts'
import { withoutEmpty } from './without-empty.ts'

const given = await givenTwins()

/** A cluster with what its server sees. */
interface Side {
  cluster: Cluster
  client: KubeClient
  backups: Backups
  restores: Restores
}

describe('one bucket, Velero in one cluster and Lateen in another', {
  skip: given.skip,
  concurrency: false,
}, () => {
  const scope = new AsyncDisposableStack()
  let bucket: BackupBucket
  let ours: Side
  let theirs: Side
  let velero: VeleroServer | undefined

  before(async () => {
    bucket = scope.use(new BackupBucket(given.ours.cluster, serverNamespace))
    ours = await open(given.ours.cluster, true)
    // Velero writes credentials from a Secret to a file again and again while its plugin reads it, and now and then the plugin finds none.
    theirs = await open(given.theirs.cluster, false)
    scope.use(
      await startServer({
        namespace: serverNamespace,
        kubeconfig: ours.cluster.kubeconfigPath,
        backupSyncPeriod: 200,
      }),
    )
    await theirs.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(deploymentOfServer) })
    await syncVelero()
    for (const { client } of [ours, theirs]) await new Locations(client, serverNamespace).available('default')
  })
  after(async () => {
    await velero?.stop()
    await scope.disposeAsync()
  })

  async function open(of: Cluster, secret: boolean): Promise<Side> {
    const cluster: Cluster = { ...of, s3: given.ours.cluster.s3 }
    const config = await loadKubeConfig({ path: cluster.kubeconfigPath })
    const client = scope.use(await createKubeClient({ config }))
    await prepareCluster(cluster, serverNamespace)
    const place = { cluster, client, namespace: serverNamespace }
    await createLocation(place, { prefix: serverNamespace, secret })
    const data = ['shop-ours', 'shop-theirs']
    for (const name of data) {
      await cluster.kubectl(['create', 'namespace', name])
      await cluster.kubectl(['create', 'configmap', 'things', '-n', name, `--from-literal=of=${name}`])
    }
    const backups = new Backups(client, serverNamespace)
    return { cluster, client, backups, restores: new Restores(client, serverNamespace) }
  }

  /** Velero looks at buckets once a minute, and when it starts. */
  async function syncVelero(): Promise<void> {
    await velero?.stop()
    const flags = ['--backup-sync-period=1s', '--client-qps=1000', '--client-burst=2000']
    velero = await startVeleroServer({ cluster: theirs.cluster, namespace: serverNamespace, flags })
  }

  const names = async ({ backups }: Side) => (await backups.list()).map(({ metadata }) => metadata.name)

  async function gone({ backups }: Side, name: string): Promise<void> {
    await waitUntil(() => backups.get(name).then(() => undefined, isNotFound), {
      timeoutMs: 120_000,
      failure: () => new Error(`${name} stays`),
      everyMs: 100,
    })
  }

  async function deleteOn({ client, backups }: Side, name: string): Promise<void> {
    const { uid = '' } = (await backups.get(name)).metadata
    const request: DeleteBackupRequest = {
      apiVersion: 'velero.io/v1',
      kind: 'DeleteBackupRequest',
      metadata: {
        generateName: `${name}-`,
        namespace: serverNamespace,
        labels: { 'velero.io/backup-name': name, 'velero.io/backup-uid': uid },
      },
      spec: { backupName: name },
    }
    await client.resource(DeleteBackupRequestKind, serverNamespace).create(request)
    await gone({ client, backups } as Side, name)
  }

  async function restoreOn(side: Side, backupName: string, namespace: string): Promise<void> {
    const target = `${namespace}-restored`
    const { status } = await side.restores.run(`restore-${backupName}`, {
      backupName,
      namespaceMapping: { [namespace]: target },
    })
    assert.equal(status?.phase, 'Completed')
    const data = '-o=jsonpath={.data.of}'
    assert.equal(await side.cluster.kubectl(['get', 'configmap', 'things', '-n', target, data]), namespace)
  }

  it('shows Velero’s backup to Lateen, which restores it', async () => {
    const taken = await theirs.backups.take('by-velero', { includedNamespaces: ['shop-theirs'] })
    assert.equal(taken.status?.phase, 'Completed')
    const found = await ours.backups.until('by-velero', () => true)
    assert.deepEqual(comparable(found), comparable(taken))
    await restoreOn(ours, 'by-velero', 'shop-theirs')
  })

  it('shows Lateen’s backup to Velero, which restores it, and both see the same in everything else', async () => {
    const taken = await ours.backups.take('by-lateen', { includedNamespaces: ['shop-ours'] })
    assert.equal(taken.status?.phase, 'Completed')
    await putStrangeBackups(bucket)
    await syncVelero()
    const found = await theirs.backups.until('by-lateen', () => true)
    assert.deepEqual(comparable(found), comparable(taken))
    await restoreOn(theirs, 'by-lateen', 'shop-ours')

    await Promise.all([ours, theirs].map(({ backups }) => backups.until('zz-last', () => true)))
    const volumesOf = async ({ client }: Side) => {
      const volumes = client.resource(PodVolumeBackupKind, serverNamespace)
      return Promise.all(['volumes-a', 'volumes-b'].map(name => volumes.get(name)))
    }
    const both = await Promise.all([ours, theirs].map(side => waitFor(() => volumesOf(side))))
    assert.deepEqual(...(both.map(volumes => volumes.map(comparableVolume)) as [unknown, unknown]))
    let shown: unknown[] = []
    const isSame = async () => {
      shown = await Promise.all([names(ours), names(theirs)])
      return isDeepStrictEqual(shown[0], shown[1]) || undefined
    }
    // Velero goes through them in any order, and comes again after a minute to what it could not read.
    await waitUntil(isSame, {
      timeoutMs: 150_000,
      failure: () => new Error(`they show different backups: ${JSON.stringify(shown)}`),
    })
    for (const name of await names(ours)) {
      const [here, there] = await Promise.all([ours, theirs].map(({ backups }) => backups.get(name ?? '')))
      assert.ok(here && there)
      assert.deepEqual(comparable(here), comparable(there), name)
    }
  })

  it('loses for Lateen what Velero deletes', async () => {
    await deleteOn(theirs, 'by-lateen')
    await gone(ours, 'by-lateen')
    assert.equal((await bucket.files()).has('by-lateen'), false)
  })

  it('loses for Velero what Lateen deletes', async () => {
    for (const name of ['by-velero', 'volumes', 'failed']) await deleteOn(ours, name)
    await syncVelero()
    await gone(theirs, 'by-velero')
    await gone(theirs, 'volumes')
    assert.deepEqual(
      (await bucket.keys()).filter(key => /^backups\/(by-velero|volumes|failed)\//.test(key)),
      [],
    )
  })
})

/** What another cluster may have left, whole and broken. */
async function putStrangeBackups(bucket: BackupBucket): Promise<void> {
  const volumes = [foreignVolume('volumes', 'volumes-a'), foreignVolume('volumes', 'volumes-b')]
  const labels = { app: 'shop', 'velero.io/storage-location': 'elsewhere' }
  const owner = { apiVersion: 'velero.io/v1', kind: 'Schedule', name: 'daily', uid: 'u', controller: true }
  await putForeignBackup(bucket, { name: 'volumes', volumes, metadata: { labels, ownerReferences: [owner] } })
  await putForeignBackup(bucket, { name: 'failed', status: { phase: 'Failed', failureReason: 'no' } })
  await putForeignBackup(bucket, { name: 'running', status: { phase: 'InProgress' } })
  await putForeignBackup(bucket, { name: 'refused', status: { phase: 'FailedValidation' } })
  await putForeignBackup(bucket, {
    name: 'ending',
    status: { phase: 'Finalizing', expiration: '2099-01-01T00:00:00Z' },
  })
  const hooks = { resources: [{ name: 'x', pre: [{ exec: { command: ['x'] } }] }] }
  await putForeignBackup(bucket, { name: 'hooks', spec: { hooks, includedNamespaces: ['a'], ttl: '1h0m0s' } })
  await bucket.write('backups/half/half.tar.gz', Buffer.from('x'))
  await bucket.write('backups/damaged/velero-backup.json', Buffer.from('{"kind": "Bac'))
  await putForeignBackup(bucket, { name: 'zz-last', status: { phase: 'PartiallyFailed', errors: 2 } })
}

/** Without what each cluster gives to its objects. Velero writes out some of what is empty, and leaves out zeros. */
function comparable({ metadata, spec, status }: Backup): unknown {
  const { name, labels, ownerReferences } = metadata
  const { 'lateen.dev/synced': _, ...annotations } = metadata.annotations ?? {}
  return withoutEmpty(withoutZeros({ name, labels, annotations, ownerReferences, spec, status }))
}

function comparableVolume({ metadata, spec, status }: { metadata: object; spec: object; status?: object }) {
  const { name, labels, ownerReferences } = metadata as Backup['metadata']
  const owners = ownerReferences?.map(({ uid: _, ...owner }) => owner)
  const { 'velero.io/backup-uid': uid, ...others } = labels ?? {}
  assert.equal(uid, ownerReferences?.[0]?.uid)
  return withoutEmpty({ name, others, owners, spec, status })
}

function withoutZeros(value: object): unknown {
  return JSON.parse(JSON.stringify(value), (_key, part) => (part === 0 ? undefined : part))
}

function waitFor<T>(get: () => Promise<T>): Promise<T> {
  return waitUntil(() => get().catch(error => (isNotFound(error) ? undefined : Promise.reject(error))), {
    timeoutMs: 150_000,
    failure: () => new Error('it did not come'),
    everyMs: 100,
  })
}
