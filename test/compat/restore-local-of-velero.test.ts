import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { lateenFor } from '../cluster/cli-runner.ts'
import { configMap, handsOn } from '../cluster/restore-harness.ts'
import { Locations, prepareCluster } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true })
const namespace = `local-of-velero-${process.pid}`
const data = `${namespace}-data`
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-local-of-velero-'))
after(() => rm(folder, { recursive: true }))

/** Has a real Velero take a backup of the namespace with the data. */
async function takeBackup(name: string): Promise<void> {
  const { cluster } = given
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  // Velero writes credentials from a Secret to a file again and again while its plugin reads it, and now and then the plugin finds none.
  await createLocation({ cluster, client, namespace }, { prefix: namespace, secret: false })
  await using _server = await startVeleroServer({ cluster, namespace })
  await new Locations(client, namespace).available('default')
  const { status } = await new Backups(client, namespace).take(name, { includedNamespaces: [data] })
  assert.equal(status?.phase, 'Completed')
}

/** Copies the backups of the bucket as any S3 client would. */
async function download(): Promise<void> {
  using bucket = new BackupBucket(given.cluster, namespace)
  for (const key of await bucket.keys()) {
    if (!key.startsWith('backups/')) continue
    await mkdir(path.join(folder, path.dirname(key)), { recursive: true })
    await writeFile(path.join(folder, key), await bucket.read(key))
  }
}

describe('a backup that Velero took and somebody copied out of the bucket', {
  skip: missing || given.skip,
}, () => {
  const { get, create } = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })
  after(() => given.cluster.kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--wait=false']))
  after(() => given.cluster.kubectl(['delete', 'namespace', data, '--ignore-not-found', '--wait=false']))

  it('is restored from the folder, with no server at all', async () => {
    await prepareCluster(given.cluster, namespace)
    await create(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: data, labels: { team: 'a' } } },
      configMap({ name: 'settings', namespace: data }, { color: 'blue' }),
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'worker', namespace: data } },
    )
    await takeBackup('theirs')
    await download()
    await given.cluster.kubectl(['delete', 'namespace', data])
    const lateen = await lateenFor(given.cluster.kubeconfigPath)
    const made = await lateen(['restore', 'create', 'ours', '--from-backup=theirs', '--local', folder])
    assert.match(made.stdout, /Restore of backup "theirs" completed with status: Completed/, made.stderr)
    assert.deepEqual((await get('configmap', 'settings', data)).data, { color: 'blue' })
    assert.equal((await get('namespace', data)).metadata.labels?.team, 'a')
    await get('serviceaccount', 'worker', data)
  })
})
