import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rootCertificates } from 'node:tls'
import { isObjectStoreError } from '@lateen/plugin'
import { parseAwsConfig } from './aws-config.ts'

const [certificate = ''] = rootCertificates

function refuses(config: Record<string, string>, ...says: string[]): void {
  assert.throws(
    () => parseAwsConfig(config),
    (error: unknown) => {
      assert.ok(isObjectStoreError(error, 'INVALID_CONFIG'), String(error))
      for (const part of says) assert.ok(error.message.includes(part), `${error.message} lacks ${part}`)
      return true
    },
  )
}

describe('parseAwsConfig', () => {
  it('has defaults for everything', () => {
    assert.deepEqual(parseAwsConfig({ bucket: 'b' }), {
      bucket: 'b',
      region: undefined,
      s3Url: undefined,
      publicUrl: undefined,
      forcePathStyle: false,
      insecureSkipTlsVerify: false,
      caCert: undefined,
      credentialsFile: undefined,
      profile: undefined,
      encryption: { type: 'none' },
      tagging: undefined,
      checksumAlgorithm: 'CRC32',
    })
  })

  it('accepts every key that the plugin documents, and those the server adds', () => {
    const config = parseAwsConfig({
      bucket: 'b',
      prefix: 'p',
      caCert: certificate,
      credentialsFile: '/c',
      region: 'eu-central-1',
      s3ForcePathStyle: 'true',
      s3Url: 'http://minio:9000',
      publicUrl: 'https://minio.example',
      serverSideEncryption: 'AES256',
      signatureVersion: '1',
      profile: 'backup',
      insecureSkipTLSVerify: '1',
      enableSharedConfig: 'true',
      tagging: 'a=b&c=d',
      checksumAlgorithm: 'SHA256',
      kmsKeyId: '',
      customerKeyEncryptionFile: '',
      customerKeyEncryptionSecret: '',
    })
    assert.equal(config.forcePathStyle, true)
    assert.equal(config.insecureSkipTlsVerify, true)
    assert.equal(config.profile, 'backup')
    assert.equal(config.tagging, 'a=b&c=d')
    assert.deepEqual(config.encryption, { type: 'algorithm', name: 'AES256' })
  })

  it('names unknown keys and lists the known ones', () => {
    refuses({ bucket: 'b', s3url: 'x', Region: 'y' }, '"Region", "s3url"', 's3Url', 'region')
  })

  it('reads booleans as Go does and names one it cannot read', () => {
    for (const value of ['1', 't', 'T', 'true', 'True', 'TRUE']) {
      assert.equal(parseAwsConfig({ s3ForcePathStyle: value }).forcePathStyle, true)
    }
    for (const value of ['0', 'f', 'F', 'false', 'False', 'FALSE', '']) {
      assert.equal(parseAwsConfig({ s3ForcePathStyle: value }).forcePathStyle, false)
    }
    refuses({ s3ForcePathStyle: 'yes' }, 'config.s3ForcePathStyle is "yes"')
    refuses({ insecureSkipTLSVerify: 'on' }, 'config.insecureSkipTLSVerify is "on"')
  })

  it('refuses URLs without a scheme', () => {
    refuses({ s3Url: 'minio:9000' }, 'config.s3Url "minio:9000"', 'http://')
    refuses({ publicUrl: 'http://' }, 'config.publicUrl "http://"')
  })

  it('takes one kind of key and no two', () => {
    assert.deepEqual(parseAwsConfig({ kmsKeyId: 'k', serverSideEncryption: 'AES256' }).encryption, {
      type: 'kms',
      keyId: 'k',
    })
    const secret = parseAwsConfig({ customerKeyEncryptionSecret: 'name/key' }).encryption
    assert.deepEqual(secret, { type: 'customer-key-secret', secret: { name: 'name', key: 'key' } })
    refuses({ kmsKeyId: 'k', customerKeyEncryptionFile: '/f' }, 'kmsKeyId and customerKeyEncryptionFile')
    for (const reference of ['name', 'name/', '/key', 'a/b/c']) {
      refuses({ customerKeyEncryptionSecret: reference }, 'config.customerKeyEncryptionSecret', 'slash')
    }
  })

  it('checks tags by the limits of S3', () => {
    assert.equal(parseAwsConfig({ tagging: 'single=tag' }).tagging, 'single=tag')
    assert.equal(parseAwsConfig({ tagging: 'empty=' }).tagging, 'empty=')
    refuses({ tagging: 'a' }, 'config.tagging')
    refuses({ tagging: 'a=b=c' }, 'config.tagging')
    refuses({ tagging: '=b' }, 'config.tagging')
    refuses({ tagging: Array.from({ length: 11 }, (_, n) => `k${n}=v`).join('&') }, '11 tags')
    refuses({ tagging: `${'k'.repeat(129)}=v` }, '128')
    refuses({ tagging: `k=${'v'.repeat(257)}` }, '256')
  })

  it('tells an absent checksum algorithm from an empty one', () => {
    assert.equal(parseAwsConfig({}).checksumAlgorithm, 'CRC32')
    assert.equal(parseAwsConfig({ checksumAlgorithm: '' }).checksumAlgorithm, undefined)
    refuses({ checksumAlgorithm: 'MD5' }, 'config.checksumAlgorithm is "MD5"', 'SHA256')
  })

  it('reads the longest CA certificate that fits into an object at once', () => {
    // As a regular expression it took time in proportion to the square of the length: half a minute for this one.
    refuses({ caCert: '-----BEGIN CERTIFICATE-----'.repeat(55_000) }, 'cannot be read')
  })

  it('refuses a CA certificate that is not PEM, damaged or cut', () => {
    const damaged = certificate.replace(/\n[^-\n]{10}/, '\n!!!!!!!!!!')
    for (const caCert of ['TUlJ', damaged, `${certificate}\n${damaged}`, certificate.slice(0, 200)]) {
      refuses({ caCert }, 'CA certificate of the location cannot be read', 'PEM')
    }
    assert.equal(
      parseAwsConfig({ caCert: `# bundle\n${certificate}\n${certificate}` }).caCert?.length ?? 0,
      certificate.length * 2 + 10,
    )
  })
})
