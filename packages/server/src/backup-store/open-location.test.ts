import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupStorageLocation } from '@lateen/api'
import { KubeError, silentLogger } from '@lateen/kube'
import type { ObjectStore } from '@lateen/plugin'
import { waitingClock } from '../../../../tools/test/waiting-clock.ts'
import { bucketName, locationConfig, openLocation, openPatiently } from './open-location.ts'

describe('bucketName', () => {
  it('drops outer slashes', () => {
    assert.equal(bucketName('b'), 'b')
    assert.equal(bucketName('/b//'), 'b')
  })

  it('refuses a bucket with a prefix in it and says where the prefix belongs', () => {
    assert.throws(() => bucketName('b/team'), /"b\/team" contains a "\/".*spec\.objectStorage\.prefix/)
  })

  it('refuses an empty bucket', () => {
    for (const written of ['', '/', '//']) assert.throws(() => bucketName(written), /bucket is empty/)
  })

  it('reads the longest name that fits into an object at once', () => {
    // As a regular expression it took time in proportion to the square of the length: ten minutes for this one.
    assert.throws(() => bucketName(`x${'/'.repeat(1_000_000)}x`), /contains a "\/"/)
  })
})

describe('openPatiently', () => {
  const location: BackupStorageLocation = {
    ...{ apiVersion: 'velero.io/v1', kind: 'BackupStorageLocation', metadata: { name: 'default' } },
    spec: {
      provider: 'aws',
      objectStorage: { bucket: 'b' },
      credential: { name: 'cloud', key: 'key' },
    },
  }

  /** An API server that is away until a moment, and a clock that goes when somebody waits. */
  function given(
    backAtMs: number,
    error = new KubeError('Unreachable', { message: 'away', retryable: true }),
  ) {
    let open = 0
    const clock = waitingClock()
    const create = () => {
      open += 1
      return {
        init: async () => undefined,
        [Symbol.asyncDispose]: async () => {
          open -= 1
        },
      } as unknown as ObjectStore
    }
    const ports = {
      objectStores: { names: ['velero.io/aws'], create },
      async readSecretKey() {
        if (clock.now() < backAtMs) throw error
        return Buffer.from('of the secret')
      },
      credentialFiles: {
        write: async () => '/files/cloud_key',
        [Symbol.asyncDispose]: async () => undefined,
      },
    }
    return { ports, patience: { clock, log: silentLogger }, open: () => open }
  }

  it('outlasts an API server that is away for more than a minute, and leaves one store open', async () => {
    const { ports, patience, open } = given(100_000)
    await assert.rejects(openLocation(location, ports), { code: 'Unreachable' })
    const opened = await openPatiently(location, ports, patience)
    assert.equal(open(), 1)
    await opened[Symbol.asyncDispose]()
    assert.equal(open(), 0)
  })

  it('ends at once where waiting cures nothing', async () => {
    const { ports, patience } = given(1, new KubeError('Forbidden', { message: 'no' }))
    await assert.rejects(openPatiently(location, ports, patience), { code: 'Forbidden' })
    assert.equal(patience.clock.now(), 0)
  })
})

describe('locationConfig', () => {
  const readSecretKey = async () => Buffer.from('of the secret')
  const credentialFiles = {
    write: async ({ name, key }: { name: string; key: string }) => `/files/${name}_${key}`,
    [Symbol.asyncDispose]: async () => undefined,
  }
  const configOf = (spec: Partial<BackupStorageLocation['spec']>) =>
    locationConfig(
      {
        ...{ apiVersion: 'velero.io/v1', kind: 'BackupStorageLocation', metadata: { name: 'default' } },
        spec: { provider: 'aws', objectStorage: { bucket: 'b' }, ...spec },
      },
      { readSecretKey, credentialFiles },
    )

  it('refuses a credentials file that the location names itself, also beside a secret', async () => {
    const config = { credentialsFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' }
    const refusal = { code: 'INVALID_CONFIG', message: /spec\.config has credentialsFile.*spec\.credential/ }
    await assert.rejects(configOf({ config }), refusal)
    await assert.rejects(configOf({ config, credential: { name: 'cloud', key: 'cloud' } }), refusal)
    await assert.rejects(configOf({ config: { credentialsFile: '' } }), refusal)
  })

  it('takes that of the secret, and bucket and prefix of the location', async () => {
    const config = { bucket: 'other', prefix: 'other', region: 'x' }
    const objectStorage = { bucket: 'b', prefix: '/team//a/' }
    assert.deepEqual(await configOf({ config, objectStorage, credential: { name: 'cloud', key: 'key' } }), {
      ...{ region: 'x', bucket: 'b', prefix: 'team/a', credentialsFile: '/files/cloud_key' },
    })
  })

  for (const prefix of ['..', '../other', 'a/../../other', 'a/./b', 'a/b\0', 'a\nb', 'a'.repeat(1025)]) {
    it(`refuses the prefix ${JSON.stringify(prefix.slice(0, 20))}`, () =>
      assert.rejects(configOf({ objectStorage: { bucket: 'b', prefix } }), {
        code: 'INVALID_CONFIG',
        message: /spec\.objectStorage\.prefix/,
      }))
  }
})
