import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupStorageLocation } from '@lateen/api'
import { repositoryOptions } from './repository-options.ts'
import { resticIdentifier } from './restic-identifier.ts'

const key = { volumeNamespace: 'shop', backupStorageLocation: 'default', repositoryType: 'kopia' }

function location(spec: Partial<BackupStorageLocation['spec']>): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default' },
    spec: { provider: 'aws', objectStorage: { bucket: 'backups' }, ...spec },
  }
}

const optionsOf = (spec: Partial<BackupStorageLocation['spec']>, more: object = {}) =>
  repositoryOptions({ location: location(spec), key, password: 'secret', ...more })

describe('repositoryOptions', () => {
  it('finds the repository of a namespace below kopia/ of the bucket and its prefix', () => {
    const { storageType, storageOptions } = optionsOf(
      { objectStorage: { bucket: '/backups/', prefix: '/team/a/' }, config: { s3Url: 'http://store:9000/' } },
      { region: 'here' },
    )
    assert.equal(storageType, 's3')
    assert.deepEqual(storageOptions, {
      bucket: 'backups',
      prefix: 'team/a/kopia/shop/',
      endpoint: 'http://store:9000',
      region: 'here',
    })
  })

  it('takes any provider with an s3Url for S3, as Velero does, and no other unknown one', () => {
    const config = { s3Url: 'https://store' }
    assert.equal(optionsOf({ provider: 'example.com/own', config }).storageType, 's3')
    assert.throws(() => optionsOf({ provider: 'velero.io/gcp' }), {
      code: 'PROVIDER_UNSUPPORTED',
      message: /"velero\.io\/gcp".*aws.*filesystem/s,
    })
  })

  it('refuses an s3Url with a path, behind which kopia could not look', () => {
    assert.throws(() => optionsOf({ config: { s3Url: 'https://store/path' } }), {
      code: 'INVALID_LOCATION',
      message: /store\/path/,
    })
  })

  for (const volumeNamespace of ['..', '../other', 'a/b', '', 'UPPER', 'x'.repeat(64)]) {
    it(`is not looked for below ${JSON.stringify(volumeNamespace).slice(0, 20)}, which is no namespace`, () => {
      assert.throws(() => optionsOf({}, { key: { ...key, volumeNamespace } }), {
        code: 'INVALID_LOCATION',
        message: /no name of a namespace/,
      })
    })
  }

  it('lies in the folder of a filesystem location', () => {
    const { storageType, storageOptions } = optionsOf({
      provider: 'filesystem',
      config: { path: '/mnt/nfs' },
    })
    assert.equal(storageType, 'filesystem')
    assert.deepEqual(storageOptions, { fspath: '/mnt/nfs/backups', prefix: 'kopia/shop' })
  })

  it('takes over what a repository was told of cache and maintenance, and nothing else', () => {
    const config = { cacheLimitMB: '100', fullMaintenanceInterval: 'fastGC', other: 'x' }
    const { storageOptions, generalOptions } = optionsOf({}, { config })
    assert.equal(storageOptions.cacheLimitMB, '100')
    assert.deepEqual(generalOptions, { fullMaintenanceInterval: 'fastGC' })
  })

  it('only reads where only reading is allowed', () => {
    assert.equal(optionsOf({ accessMode: 'ReadOnly' }).generalOptions?.readOnly, 'true')
  })
})

describe('resticIdentifier', () => {
  const identifierOf = (spec: Partial<BackupStorageLocation['spec']>) =>
    resticIdentifier(location(spec), 'shop')

  it('names repositories as Velero does', () => {
    const objectStorage = { bucket: 'backups', prefix: 'team' }
    const s3Url = 'https://store:9000/'
    assert.equal(
      identifierOf({ objectStorage, config: { s3Url } }),
      's3:https://store:9000/backups/team/restic/shop',
    )
    assert.equal(
      identifierOf({ config: { region: 'eu-central-1' } }),
      's3:s3-eu-central-1.amazonaws.com/backups/restic/shop',
    )
    assert.equal(identifierOf({ provider: 'azure', objectStorage }), 'azure:backups:/team/restic/shop')
    assert.equal(identifierOf({ provider: 'velero.io/gcp' }), 'gs:backups:/restic/shop')
    assert.equal(identifierOf({ config: { resticRepoPrefix: 'rest:http://r/' } }), 'rest:http://r/shop')
  })

  it('says what is missing', () => {
    assert.throws(() => identifierOf({}), { code: 'INVALID_LOCATION', message: /region.*s3Url/ })
    assert.throws(() => identifierOf({ provider: 'own' }), { code: 'PROVIDER_UNSUPPORTED', message: /"own"/ })
  })
})
