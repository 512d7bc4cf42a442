import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { BackupStorageLocationSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { Locations, prepareCluster, type RunningServer, startServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const namespace = `storage-location-phases-${process.pid}`

describe('a server and storage locations', { skip: given.skip }, () => {
  let client: KubeClient
  let locations: Locations
  let server: RunningServer
  let folder = ''
  let hanging: Server

  before(async () => {
    await prepareCluster(given.cluster, namespace)
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    locations = new Locations(client, namespace)
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-locations-'))
    await mkdir(path.join(folder, 'bucket'))
    hanging = createServer(() => undefined)
    await new Promise<void>(resolve => hanging.listen(0, '127.0.0.1', resolve))
    const { s3 } = given.cluster
    await writeSecret('cloud', { cloud: ini(s3.accessKeyId, s3.secretAccessKey) })
    server = await startServer({
      namespace,
      kubeconfig: given.cluster.kubeconfigPath,
      storeValidationFrequency: 1_000,
      storeValidationTimeout: 5_000,
    })
  })

  after(async () => {
    const code = await server.stop()
    hanging.closeAllConnections()
    hanging.close()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
    assert.equal(code, 0, 'the server did not stop gracefully')
  })

  function ini(id: string, secret: string): string {
    return `[default]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`
  }

  async function writeSecret(name: string, stringData: Record<string, string>): Promise<void> {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData }
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(secret) })
  }

  function onS3(
    changes: Partial<BackupStorageLocationSpec> = {},
    config: Record<string, string> = {},
  ): BackupStorageLocationSpec {
    const { s3 } = given.cluster
    return {
      provider: 'aws',
      objectStorage: { bucket: s3.bucket, prefix: namespace },
      credential: { name: 'cloud', key: 'cloud' },
      config: { s3Url: s3.endpoint, region: s3.region, s3ForcePathStyle: 'true', ...config },
      ...changes,
    }
  }

  function onFolder(config: Record<string, string> = {}, bucket = 'bucket'): BackupStorageLocationSpec {
    return { provider: 'filesystem', objectStorage: { bucket }, config: { path: folder, ...config } }
  }

  describe('makes Available', () => {
    it('a folder', async () => {
      await locations.create('folder', onFolder())
      const status = await locations.available('folder')
      assert.equal(status.message, undefined)
      assert.ok(status.lastValidationTime)
    })

    it('a bucket, by either name of the provider', async () => {
      await locations.create('s3', onS3())
      await locations.create('s3-full-name', onS3({ provider: 'velero.io/aws' }))
      await locations.available('s3')
      await locations.available('s3-full-name')
    })

    it('a location that holds the folders of backups only', async () => {
      await mkdir(path.join(folder, 'used/backups/b1'), { recursive: true })
      await writeFile(path.join(folder, 'used/backups/b1/velero-backup.json'), '{}')
      await writeFile(path.join(folder, 'used/a-file-at-the-top'), '')
      await locations.create('used', onFolder({}, 'used'))
      await locations.available('used')
    })
  })

  describe('makes Unavailable and says why:', () => {
    const cases: { name: string; spec: () => BackupStorageLocationSpec; says: string[] }[] = [
      {
        name: 'unknown-provider',
        spec: () => onS3({ provider: 'azure' }),
        says: ['no object store is named "azure"', 'velero.io/aws, velero.io/filesystem'],
      },
      {
        name: 'missing-secret',
        spec: () => onS3({ credential: { name: 'none', key: 'cloud' } }),
        says: [`the secret ${namespace}/none, to which spec.credential refers, does not exist`, 'Create it'],
      },
      {
        name: 'missing-key',
        spec: () => onS3({ credential: { name: 'cloud', key: 'other' } }),
        says: [`the secret ${namespace}/cloud has no key "other"`, 'It has "cloud"'],
      },
      {
        name: 'no-credentials',
        spec: () => {
          const { credential: _, ...spec } = onS3()
          return spec
        },
        says: ['no credentials for bucket', 'spec.credential'],
      },
      {
        name: 'missing-bucket',
        spec: () => onS3({ objectStorage: { bucket: 'lateen-no-such-bucket' } }),
        says: ['the bucket "lateen-no-such-bucket" does not exist at http://', 'Create it'],
      },
      {
        name: 'bucket-with-slash',
        spec: () => onS3({ objectStorage: { bucket: 'a/b' } }),
        says: ['spec.objectStorage.bucket "a/b" contains a "/"', 'spec.objectStorage.prefix'],
      },
      {
        name: 'unknown-setting',
        spec: () => onS3({}, { s3url: 'x' }),
        says: ['config has the unknown key "s3url"', 's3Url'],
      },
      {
        name: 'closed-port',
        spec: () => onS3({}, { s3Url: 'http://127.0.0.1:1' }),
        says: ['nothing listens at http://127.0.0.1:1'],
      },
      {
        name: 'two-ca-certificates',
        spec: () =>
          onS3({
            objectStorage: { bucket: 'b', caCert: 'eA==', caCertRef: { name: 'cloud', key: 'cloud' } },
          }),
        says: ['spec.objectStorage has both caCert and caCertRef'],
      },
      {
        name: 'missing-ca-certificate',
        spec: () => onS3({ objectStorage: { bucket: 'b', caCertRef: { name: 'no-ca', key: 'ca.crt' } } }),
        says: [`the secret ${namespace}/no-ca, to which spec.objectStorage.caCertRef refers, does not exist`],
      },
      {
        name: 'bad-ca-certificate',
        spec: () => onS3({ objectStorage: { bucket: 'b', caCertRef: { name: 'cloud', key: 'cloud' } } }),
        says: ['the CA certificate of the location cannot be read'],
      },
      {
        name: 'path-missing',
        spec: () => onFolder({ path: '/no/such/folder' }),
        says: ['config.path /no/such/folder does not exist'],
      },
      {
        name: 'bucket-folder-missing',
        spec: () => onFolder({}, 'none'),
        says: ['the bucket "none" is no folder in', 'mkdir'],
      },
    ]
    for (const { name, spec, says } of cases) {
      it(name.replaceAll('-', ' '), async () => {
        await locations.create(name, spec())
        const message = await locations.unavailable(name, ...says)
        assert.ok(message.startsWith(`BackupStorageLocation "${name}" is unavailable: `), message)
      })
    }

    it('a path that is a file, and a bucket that is a link out of the root', async () => {
      await writeFile(path.join(folder, 'file'), '')
      await locations.create('path-is-file', onFolder({ path: path.join(folder, 'file') }))
      await symlink(tmpdir(), path.join(folder, 'link'))
      await locations.create('bucket-is-link', onFolder({}, 'link'))
      await locations.unavailable('path-is-file', 'is a file, not a folder')
      await locations.unavailable('bucket-is-link', `${folder}/link is a symbolic link`)
    })

    it('folders that do not belong to backups, naming three', async () => {
      for (const name of ['photos', 'music', 'films', 'zoo', 'backups']) {
        await mkdir(path.join(folder, 'foreign', name), { recursive: true })
        await writeFile(path.join(folder, 'foreign', name, 'x'), '')
      }
      await locations.create('foreign', onFolder({}, 'foreign'))
      await locations.unavailable('foreign', '"films", "music", "photos" and more', 'Only backups, restores')
    })

    it('an endpoint that hangs, while other locations are still validated', async () => {
      const s3Url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`
      for (const n of [1, 2, 3]) await locations.create(`hanging-${n}`, onS3({}, { s3Url }))
      await locations.create('beside-hanging', onFolder())
      await locations.available('beside-hanging')
      await locations.unavailable('hanging-1', 'did not answer within 5 s', 'network and firewalls')
      await locations.unavailable('hanging-3', 'did not answer within 5 s')
      for (const n of [1, 2, 3]) await locations.delete(`hanging-${n}`)
    })

    it('a location without a spec', async () => {
      const bare = {
        apiVersion: 'velero.io/v1',
        kind: 'BackupStorageLocation',
        metadata: { name: 'bare', namespace },
      }
      await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(bare) })
      await locations.unavailable('bare', 'does not fit its schema', 'spec.provider')
    })
  })

  it('heals a location when its secret is corrected, and tells wrong keys from wrong secrets', async () => {
    const { s3 } = given.cluster
    await writeSecret('healing', { cloud: ini('nobody', s3.secretAccessKey) })
    await locations.create('healing', onS3({ credential: { name: 'healing', key: 'cloud' } }))
    await locations.unavailable('healing', 'the access key id is not known', 'aws_access_key_id')
    await writeSecret('healing', { cloud: ini(s3.accessKeyId, 'wrong') })
    await locations.unavailable('healing', 'the secret access key does not belong', 'aws_secret_access_key')
    await writeSecret('healing', { cloud: ini(s3.accessKeyId, s3.secretAccessKey) })
    assert.equal((await locations.available('healing')).message, undefined)
  })

  it('validates at once when the spec changes, also with validation off', async () => {
    await locations.create('manual', { ...onFolder({}, 'later'), validationFrequency: '0s' })
    const before = await locations.unavailable('manual', 'the bucket "later"')
    await locations.patch('manual', { objectStorage: { bucket: 'bucket' } })
    await locations.available('manual')
    await locations.patch('manual', { objectStorage: { bucket: 'later' } })
    const message = await locations.unavailable('manual', 'the bucket "later"')
    assert.equal(message, before)
  })

  it('validates by the frequency of the location, and not at all when that is 0', async () => {
    await locations.create('frequent', { ...onFolder(), validationFrequency: '1s' })
    await locations.create('never', { ...onFolder(), validationFrequency: '0s' })
    const { lastValidationTime: first } = await locations.available('frequent')
    const { lastValidationTime: only } = await locations.available('never')
    await locations.until('frequent', ({ lastValidationTime }) => lastValidationTime !== first)
    await locations.until(
      'frequent',
      ({ lastValidationTime }) => Date.parse(lastValidationTime ?? '') - Date.parse(first ?? '') >= 3_000,
    )
    assert.equal((await locations.get('never')).status?.lastValidationTime, only)
  })

  it('keeps the message of a lasting cause the same', async () => {
    const before = await locations.until('missing-bucket', ({ phase }) => phase === 'Unavailable')
    const later = await locations.until(
      'missing-bucket',
      ({ lastValidationTime }) => lastValidationTime !== before.lastValidationTime,
    )
    assert.equal(later.message, before.message)
  })

  it('shows each location in the metrics, and forgets deleted ones', async () => {
    await locations.create('measured', onFolder())
    await locations.available('measured')
    const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
    const shows = (text: string) =>
      waitUntil(async () => (await metrics()).includes(text), {
        timeoutMs: 120_000,
        failure: () => new Error(`no ${text}`),
      })
    await shows('velero_backup_location_status_gauge{backup_location_name="measured"} 1')
    await locations.patch('measured', { objectStorage: { bucket: 'none' } })
    await shows('velero_backup_location_status_gauge{backup_location_name="measured"} 0')
    await locations.delete('measured')
    await waitUntil(async () => !(await metrics()).includes('"measured"'), {
      timeoutMs: 120_000,
      failure: () => new Error('still there'),
    })
  })

  it('is ready', async () => {
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
  })

  it('does not print credentials', () => {
    const everything = JSON.stringify(server.log)
    assert.ok(!everything.includes(given.cluster.s3.secretAccessKey))
  })

  it('serves downloads, but not to links that it did not sign', async () => {
    const response = await fetch(`${server.url}/download/e30/x?signature=${'0'.repeat(64)}`)
    assert.equal(response.status, 403)
  })
})
