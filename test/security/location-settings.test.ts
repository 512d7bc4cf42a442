import assert from 'node:assert/strict'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { BackupStorageLocationSpec } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { openServerScene, type ServerScene } from '../cluster/backup-server-scene.ts'

const given = await givenCluster({ s3: true })

/** What a person may do with it who may create backup locations, and nothing else. */
describe('the settings of a backup location', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let folder = ''
  let count = 0

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-location-settings-'))
    scene = await openServerScene(given.cluster, 'location-settings')
    await scene.start({ storeValidationFrequency: 500, logLevel: 'debug' })
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  /** The message of a location that the server does not use. */
  async function refusal(spec: Partial<BackupStorageLocationSpec>, ...parts: string[]): Promise<string> {
    const { s3 } = given.cluster
    const name = `hostile-${count++}`
    await scene.locations.create(name, {
      provider: 'aws',
      objectStorage: { bucket: s3.bucket, prefix: name },
      config: { region: s3.region, s3Url: s3.endpoint, s3ForcePathStyle: 'true', ...spec.config },
      ...(spec.provider !== 'filesystem' && { credential: { name: 'cloud', key: 'cloud' } }),
      ...spec,
    })
    const message = await scene.locations.unavailable(name, ...parts)
    await scene.locations.delete(name)
    return message
  }

  const s3Config = (extra: Record<string, string>) => {
    const { s3 } = given.cluster
    return { region: s3.region, s3Url: s3.endpoint, s3ForcePathStyle: 'true', ...extra }
  }

  it('cannot name a file of the server as credentials, be they good, another tenant’s or a token', async () => {
    const { accessKeyId, secretAccessKey } = given.cluster.s3
    const good = path.join(folder, 'credentials-of-another-tenant')
    const keys = `aws_access_key_id=${accessKeyId}\naws_secret_access_key=${secretAccessKey}`
    await writeFile(good, `[default]\n${keys}\n`)
    for (const file of [good, '/var/run/secrets/kubernetes.io/serviceaccount/token', '/proc/self/environ']) {
      const config = s3Config({ credentialsFile: file })
      const message = await refusal({ config }, 'spec.config has credentialsFile', 'spec.credential')
      assert.ok(!message.includes(secretAccessKey))
    }
  })

  it('cannot run a program by way of credentials', async () => {
    const mark = path.join(folder, 'ran')
    const stringData = { cloud: `[default]\ncredential_process = /usr/bin/touch ${mark}\n` }
    const metadata = { name: 'program', namespace: scene.namespace }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(secret) })
    const credential = { name: 'program', key: 'cloud' }
    await refusal({ config: s3Config({}), credential }, 'credential_process')
    await assert.rejects(access(mark))
  })

  it('cannot read a file by way of a key for encryption, nor learn from the message what is in it', async () => {
    const secret = 'the-canary-in-a-file-of-the-server'
    const file = path.join(folder, 'not-a-key')
    await writeFile(file, secret)
    const message = await refusal({ config: s3Config({ customerKeyEncryptionFile: file }) }, 'instead of 32')
    assert.ok(!message.includes(secret))
  })

  const folders = [
    { path: '/proc', bucket: 'self' },
    { path: '/etc', bucket: 'ssl' },
    { path: '/', bucket: 'dev' },
    { path: '/', bucket: 'var', prefix: 'run/secrets/kubernetes.io' },
  ]
  for (const { path: root, bucket, prefix } of folders) {
    it(`cannot be in ${path.join(root, bucket, prefix ?? '')} of the server`, async () => {
      const objectStorage = { bucket, ...(prefix !== undefined && { prefix }) }
      await refusal({ provider: 'filesystem', objectStorage, config: { path: root } }, 'folder of the system')
    })
  }

  it('cannot leave the folder that they name by a prefix or a bucket', async () => {
    const config = { path: folder, createBucket: 'true' }
    const at = (bucket: string, prefix?: string) => ({
      ...{ provider: 'filesystem', config },
      objectStorage: { bucket, ...(prefix !== undefined && { prefix }) },
    })
    await refusal(at('b', '../../etc'), 'spec.objectStorage.prefix', '".."')
    await refusal(at('b', 'a/../..'), 'spec.objectStorage.prefix', '".."')
    await refusal(at('..'), '".."')
    await refusal(at('../etc'), 'contains a "/"')
  })

  it('cannot stop the server by their length', async () => {
    const slashes = `x${'/'.repeat(700_000)}x`
    await refusal({ objectStorage: { bucket: slashes } }, 'contains a "/"')
    const begins = Buffer.from('-----BEGIN CERTIFICATE-----'.repeat(30_000)).toString('base64')
    const { bucket } = given.cluster.s3
    await refusal({ config: s3Config({}), objectStorage: { bucket, caCert: begins } }, 'CA certificate')
    await scene.locations.available('default')
  })
})
