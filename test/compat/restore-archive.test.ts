import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import type { GroupResource } from '../../packages/server/src/item/item.ts'
import type { BackupArchive } from '../../packages/server/src/restore/archive/backup-archive.ts'
import { openBackupArchive } from '../../packages/server/src/restore/archive/open-backup-archive.ts'
import { readObject } from '../../packages/server/src/restore/archive/read-object.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { installKinds, Locations } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'

const run = promisify(execFile)
const missing = await veleroMissing()
const given = await givenCluster({ s3: true, own: true })
const { signal } = new AbortController()

let scratch: string
before(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'lateen-read-archive-'))
})
after(() => rm(scratch, { recursive: true }))

function open(bytes: Uint8Array): Promise<BackupArchive> {
  return openBackupArchive({ stream: ReadableStream.from([bytes]), scratch, signal })
}

describe('An archive that GNU tar wrote', () => {
  const names = ['system:node', 'a b', 'y'.repeat(90), 'm'.repeat(240)]

  for (const format of ['gnu', 'pax', 'ustar', 'v7']) {
    it(`is read in the format ${format}`, async () => {
      // The old formats have no room for long names.
      const fitting = format === 'gnu' || format === 'pax' ? names : names.slice(0, 2)
      const folder = path.join(scratch, format)
      const place = path.join(folder, 'resources/pods/namespaces/shop')
      await mkdir(place, { recursive: true })
      await mkdir(path.join(folder, 'metadata'))
      await writeFile(path.join(folder, 'metadata/version'), '1\n')
      for (const name of fitting) await writeFile(path.join(place, `${name}.json`), `this is ${name}`)
      const file = path.join(scratch, `${format}.tar.gz`)
      await run('tar', ['-czf', file, `--format=${format}`, '-C', folder, '.'])
      await using archive = await open(await readFile(file))
      const found = await Promise.all(
        [...archive.items('pods' as GroupResource)].map(async item => {
          assert.equal(Buffer.from(await archive.load(item)).toString(), `this is ${item.name}`)
          return item.name
        }),
      )
      assert.deepEqual(new Set(found), new Set(fitting))
    })
  }
})

const scaler = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
}

describe('An archive that Velero wrote', { skip: missing || given.skip }, () => {
  it('is read: all objects, in all versions', async () => {
    const { cluster } = given
    const namespace = 'velero-server'
    await using client = await createKubeClient({
      config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
    })
    await installKinds(cluster)
    await cluster.kubectl(['create', 'namespace', namespace])
    await cluster.kubectl(['create', 'namespace', 'shop'])
    await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(scaler) })
    await createLocation({ cluster, client, namespace }, { prefix: namespace, secret: false })
    await using _server = await startVeleroServer({
      cluster,
      namespace,
      flags: ['--features=EnableAPIGroupVersions', '--client-qps=1000', '--client-burst=2000'],
    })
    await new Locations(client, namespace).available('default')
    await new Backups(client, namespace).take('all', { includeClusterResources: true })
    using bucket = new BackupBucket(cluster, namespace)
    await using archive = await open(await bucket.read('backups/all/all.tar.gz'))
    assert.equal(archive.formatVersion, '1.1.0')
    assert.equal(archive.ignored.count, 0)
    await compare(archive, await bucket.unpack('all'))
  })
})

/** Compares with what tar and JSON.parse find. */
async function compare(archive: BackupArchive, unpacked: ReadonlyMap<string, unknown>): Promise<void> {
  const plain = [...unpacked.keys()].filter(each => /^resources\/[^/]+\/(cluster|namespaces)\//.test(each))
  assert.equal(archive.count, plain.length)
  for (const { groupResource, versions } of archive.types) {
    for (const item of archive.items(groupResource)) {
      const where = item.namespace === '' ? 'cluster' : `namespaces/${item.namespace}`
      const key = `resources/${groupResource}/${where}/${item.name}.json`
      assert.deepEqual(await readObject(archive, item), unpacked.get(key), key)
    }
    assert.equal(versions.filter(({ preferred }) => preferred).length, 1, groupResource)
  }
  const scalers = 'horizontalpodautoscalers.autoscaling' as GroupResource
  for (const version of ['v1', 'v2']) {
    const [item, ...others] = archive.items(scalers, version)
    assert.ok(item)
    assert.deepEqual(others, [])
    assert.equal(item.version, version)
    assert.equal((await readObject(archive, item)).apiVersion, `autoscaling/${version}`)
  }
}
