import assert from 'node:assert/strict'
import { hkdfSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { blobId } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { createContentEncryption } from '../encryption/content-encryption.ts'
import { createContentHash } from '../hashing/content-hash.ts'
import { emptyBlobConfig, parseBlobConfig, serializeBlobConfig } from './blob-config.ts'
import { blobIv, decryptBlob, encryptBlob } from './blob-crypto.ts'
import { parseFormatBlob, serializeFormatBlob } from './format-blob.ts'
import {
  defaultEpochParameters,
  parseFormatBlock,
  type RepositoryFormat,
  serializeFormatBlock,
} from './format-parameters.ts'
import { findFormatReplica, recoverFormatBlob } from './format-replica.ts'
import { deriveEncryptionSecret, deriveFormatKey, deriveRepositoryKeys } from './key-derivation.ts'
import {
  blobConfigBlobId,
  createFormatBlob,
  openFormatBlob,
  requireUnlocked,
  requireWritableFormat,
} from './repository-format.ts'
import { seal, unseal } from './sealed-block.ts'

const hex = (data: Uint8Array): string => Buffer.from(data).toString('hex')
const range = (first: number, length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => first + i)
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

// The fixed keys of the format's description; every expected value below is from there.
const uniqueId = range(0, 32)
const secret = range(0x20, 32)
const masterKey = range(0x40, 32)
const nonce = range(0, 12)
const password = 'static-passw0rd'
const formatKeyHex = 'ffe609844d93eddf89ad495da77bd83e8cec100e27b03a6257d505de6e36094d'
const formatKey = Buffer.from(formatKeyHex, 'hex')

const format: RepositoryFormat = {
  hash: 'BLAKE2B-256-128',
  encryption: 'AES256-GCM-HMAC-SHA256',
  ecc: undefined,
  eccOverheadPercent: 0,
  secret,
  masterKey,
  version: 3,
  maxPackSize: 20971520,
  indexVersion: 2,
  epochParameters: defaultEpochParameters,
  enablePasswordChange: true,
  splitter: 'DYNAMIC-4M-BUZHASH',
  upgradeLock: undefined,
  requiredFeatures: [],
}
const kopiaBlock =
  '{"format":{"hash":"BLAKE2B-256-128","encryption":"AES256-GCM-HMAC-SHA256",' +
  '"secret":"ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=","masterKey":"QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl8=",' +
  '"version":3,"maxPackSize":20971520,"indexVersion":2,"epochParameters":{"Enabled":true,' +
  '"EpochRefreshFrequency":1200000000000,"FullCheckpointFrequency":7,"CleanupSafetyMargin":14400000000000,' +
  '"MinEpochDuration":86400000000000,"EpochAdvanceOnCountThreshold":20,"EpochAdvanceOnTotalSizeBytesThreshold":10485760,' +
  '"DeleteParallelism":4},"enablePasswordChange":true,"splitter":"DYNAMIC-4M-BUZHASH"}}'

describe('keys', () => {
  it('are derived from the password by scrypt and by PBKDF2', async () => {
    assert.equal(hex(await deriveFormatKey(password, uniqueId, 'scrypt-65536-8-1')), formatKeyHex)
    assert.equal(
      hex(await deriveFormatKey(password, uniqueId, 'pbkdf2-sha256-600000')),
      '518d6d7b82de0409ec8e6ac75d7c8bbffc679b706969d9122bf26bfdccaa034b',
    )
  })

  it('are refused for unknown algorithms and short salts', async () => {
    await assert.rejects(deriveFormatKey(password, uniqueId, 'md5'), { code: 'UNSUPPORTED_FORMAT' })
    await assert.rejects(deriveFormatKey(password, range(0, 15), 'scrypt-65536-8-1'), { code: 'CORRUPT' })
  })

  it('equal the reference for contents, maintenance and cache', () => {
    const keys = deriveRepositoryKeys(format, formatKey, uniqueId)
    assert.equal(hex(keys.encryption), 'efffeb0407ce08e6fca4220165c06bf4508d6ee17538f6a69f8df8149a6067d2')
    assert.equal(hex(keys.maintenance), 'df3abcb527a008fb8f3b8fe556f35133a44bdfe1f801920f6875b2ad1686b17d')
    assert.equal(hex(keys.cache), '634276a4f8b9b8b421f8acc3715afc47')
    assert.equal(hex(deriveEncryptionSecret(masterKey)), hex(keys.encryption))
  })

  it('hang on the password in repositories whose password cannot change', () => {
    const keys = deriveRepositoryKeys(
      { ...format, version: 1, enablePasswordChange: false },
      formatKey,
      uniqueId,
    )
    const expected = hkdfSync('sha256', formatKey, uniqueId, 'maintenance schedule', 32)
    assert.equal(hex(keys.maintenance), hex(new Uint8Array(expected)))
  })
})

describe('the sealed block', () => {
  it('equals the reference for an empty blob configuration', () => {
    const sealed = seal(serializeBlobConfig(emptyBlobConfig), { formatKey, uniqueId }, nonce)
    assert.equal(hex(sealed), '000102030405060708090a0bac71a207461601d094a3d61e786bac84751d')
    assert.equal(text(unseal(sealed, { formatKey, uniqueId })), '{}')
  })

  it('does not open with another key, nor when cut short', () => {
    const sealed = seal(Buffer.from('{}'), { formatKey, uniqueId }, nonce)
    assert.throws(() => unseal(sealed, { formatKey: range(1, 32), uniqueId }), { code: 'BAD_PASSWORD' })
    assert.throws(() => unseal(sealed.subarray(0, 27), { formatKey, uniqueId }), { code: 'CORRUPT' })
  })
})

describe('the format block', () => {
  it('is written in Kopia’s field order', () => {
    assert.equal(text(serializeFormatBlock(format)), kopiaBlock)
  })

  it('comes back as it was', () => {
    const withEcc = { ...format, ecc: 'REED-SOLOMON-CRC32', eccOverheadPercent: 5, maxPackSize: 10 << 20 }
    for (const value of [format, withEcc])
      assert.deepEqual(parseFormatBlock(serializeFormatBlock(value)), value)
  })

  it('has defaults for what old repositories leave out', () => {
    const old = parseFormatBlock(
      Buffer.from('{"format":{"hash":"HMAC-SHA256","encryption":"x","masterKey":"AAAA","version":1}}'),
    )
    assert.equal(old.indexVersion, 1)
    assert.equal(old.splitter, 'FIXED')
    assert.equal(old.maxPackSize, 20971520)
    assert.equal(old.secret.length, 0)
    assert.equal(old.epochParameters.enabled, false)
    assert.equal(old.enablePasswordChange, false)
  })

  it('is refused for versions outside 1 to 3', () => {
    for (const version of [0, 4]) {
      const block = Buffer.from(kopiaBlock.replace('"version":3', `"version":${version}`))
      assert.throws(() => parseFormatBlock(block), { code: 'UNSUPPORTED_FORMAT' })
    }
  })

  it('is refused for unknown required features, unless ignoring them is safe', () => {
    const requiring = (features: string) =>
      Buffer.from(kopiaBlock.replace('"splitter"', `"requiredFeatures":[${features}],"splitter"`))
    assert.throws(
      () => parseFormatBlock(requiring('{"feature":"time-travel","ifNotUnderstood":{"message":"no"}}')),
      {
        code: 'UNSUPPORTED_FORMAT',
        message: /time-travel.*no/,
      },
    )
    parseFormatBlock(requiring('{"feature":"index-v2"}'))
    parseFormatBlock(requiring('{"feature":"time-travel","ifNotUnderstood":{"warn":true}}'))
  })

  it('is corrupt when it is something else', () => {
    for (const block of ['', '[]', '{}', '{"format":{"version":"3"}}', '{"format":{"version":3,"hash":5}}']) {
      assert.throws(() => parseFormatBlock(Buffer.from(block)), { code: 'CORRUPT' }, block)
    }
  })
})

describe('the upgrade lock', () => {
  const minute = 60_000
  const upgradeLock = {
    ownerId: 'them',
    creationTime: 0,
    advanceNotice: 60 * minute,
    ioDrainTimeout: 10 * minute,
    message: 'to 3',
    maxPermittedClockDrift: 5 * minute,
  }

  it('holds from the moment at which others must have stopped', () => {
    requireUnlocked({ upgradeLock }, { now: 35 * minute - 1 })
    assert.throws(() => requireUnlocked({ upgradeLock }, { now: 35 * minute }), {
      code: 'LOCKED',
      message: /them/,
    })
    requireUnlocked({ upgradeLock }, { now: 35 * minute, ownerId: 'them' })
    requireUnlocked({ upgradeLock: undefined }, { now: 35 * minute })
  })

  it('holds at once when the notice is shorter than the time to stop', () => {
    assert.throws(
      () => requireUnlocked({ upgradeLock: { ...upgradeLock, advanceNotice: 0 } }, { now: -minute }),
      { code: 'LOCKED' },
    )
  })

  it('is read from the format block', () => {
    const lock =
      '"upgradeLock":{"ownerID":"them","creationTime":"1970-01-01T00:00:00Z","advanceNoticeDuration":3600000000000,' +
      '"ioDrainTimeout":600000000000,"statusPollInterval":1,"message":"to 3","maxPermittedClockDrift":300000000000},"splitter"'
    const parsed = parseFormatBlock(Buffer.from(kopiaBlock.replace('"splitter"', lock)))
    assert.deepEqual(parsed.upgradeLock, upgradeLock)
  })
})

describe('the blob configuration', () => {
  it('comes back as it was', () => {
    const config = { retention: { mode: 'GOVERNANCE', period: 30 * 24 * 3_600_000 } } as const
    assert.equal(
      text(serializeBlobConfig(config)),
      '{"retentionMode":"GOVERNANCE","retentionPeriod":2592000000000000}',
    )
    assert.deepEqual(parseBlobConfig(serializeBlobConfig(config)), config)
    assert.deepEqual(parseBlobConfig(Buffer.from('{}')), emptyBlobConfig)
  })

  it('locks for a day at least and only in known modes', () => {
    assert.throws(() => serializeBlobConfig({ retention: { mode: 'GOVERNANCE', period: 1 } }), {
      code: 'INVALID_ARGUMENT',
    })
    assert.throws(() => parseBlobConfig(Buffer.from('{"retentionMode":"x","retentionPeriod":1}')), {
      code: 'CORRUPT',
    })
  })
})

describe('a repository', () => {
  const create = async () => {
    const storage = memoryStorage()
    return {
      storage,
      created: await createFormatBlob(storage, { password, keyAlgorithm: 'pbkdf2-sha256-600000' }),
    }
  }

  it('opens with the password that created it, with the same format and keys', async () => {
    const { storage, created } = await create()
    assert.deepEqual(await openFormatBlob(storage, password), created)
    assert.equal(created.format.version, 3)
    assert.deepEqual([...storage.blobs.keys()].sort(), ['kopia.blobcfg', 'kopia.repository'])
  })

  it('does not open with another password', async () => {
    const { storage } = await create()
    await assert.rejects(openFormatBlob(storage, 'wrong'), { code: 'BAD_PASSWORD' })
  })

  it('names the blob configuration when that is damaged, and does not blame the password', async () => {
    const { storage } = await create()
    const stored = storage.blobs.get(blobConfigBlobId)
    assert.ok(stored)
    stored.bytes[20] = (stored.bytes[20] ?? 0) ^ 1
    await assert.rejects(openFormatBlob(storage, password), { code: 'CORRUPT', message: /kopia\.blobcfg/ })
  })

  it('is not found in an empty place nor in something else', async () => {
    const storage = memoryStorage()
    await assert.rejects(openFormatBlob(storage, password), { code: 'NOT_A_REPOSITORY' })
    for (const body of ['', '<html>', '[]', '{"encryption":"AES256_GCM"}']) {
      await storage.put(blobId('kopia.repository'), Buffer.from(body))
      await assert.rejects(openFormatBlob(storage, password), { code: 'NOT_A_REPOSITORY' }, body)
    }
  })

  it('is not created where anything is stored', async () => {
    const { storage } = await create()
    await assert.rejects(createFormatBlob(storage, { password }), { code: 'ALREADY_EXISTS' })
    const other = memoryStorage()
    await other.put(blobId('kopia.blobcfg'), Buffer.from('x'))
    await assert.rejects(createFormatBlob(other, { password }), { code: 'ALREADY_EXISTS' })
  })

  it('opens without a blob configuration', async () => {
    const { storage } = await create()
    await storage.delete(blobId('kopia.blobcfg'))
    assert.deepEqual((await openFormatBlob(storage, password)).blobConfig, emptyBlobConfig)
  })

  it('is neither created nor written in format 1', async () => {
    await assert.rejects(createFormatBlob(memoryStorage(), { password, format: { version: 1 } }), {
      code: 'UNSUPPORTED_FORMAT',
    })
    assert.throws(() => requireWritableFormat({ version: 1 }), { hint: /kopia repository upgrade/ })
  })

  it('stays closed while somebody upgrades it', async () => {
    const storage = memoryStorage()
    const locked = kopiaBlock.replace(
      '"splitter"',
      '"upgradeLock":{"ownerID":"them","creationTime":"2026-01-01T00:00:00Z"},"splitter"',
    )
    const block = seal(Buffer.from(locked), { formatKey, uniqueId }, nonce)
    await storage.put(
      blobId('kopia.repository'),
      serializeFormatBlob({ uniqueId, keyAlgorithm: 'scrypt-65536-8-1', block }),
    )
    const clock: Clock = { now: () => Date.UTC(2027), sleep: async () => undefined }
    await assert.rejects(openFormatBlob(storage, password, { clock }), { code: 'LOCKED' })
    assert.equal(
      (await openFormatBlob(storage, password, { clock, upgradeOwnerId: 'them' })).format.version,
      3,
    )
  })
})

describe('the format blob', () => {
  it('is indented JSON that comes back as it was', () => {
    const blob = { uniqueId, keyAlgorithm: 'scrypt-65536-8-1', block: range(7, 9) }
    const bytes = serializeFormatBlob(blob)
    assert.match(text(bytes), /^\{\n {2}"tool": .*\n[\s\S]*\n\}\n$/)
    assert.deepEqual(parseFormatBlob(bytes), blob)
  })

  it('is refused when sealed by an unknown cipher', () => {
    const bytes = Buffer.from(
      text(serializeFormatBlob({ uniqueId, keyAlgorithm: 'x', block: nonce })).replace('AES256_GCM', 'ROT13'),
    )
    assert.throws(() => parseFormatBlob(bytes), { code: 'UNSUPPORTED_FORMAT' })
  })

  it('is found in packs that carry a copy, at their start or end', async () => {
    const replica = Buffer.from(
      '22007b7dcb1c9a3de89d0f26f28cf5f0d9876594b7f74aa942437895d0ce09d0ecaa274a2200',
      'hex',
    )
    const filler = Buffer.alloc(100, 0xee)
    assert.equal(text(findFormatReplica(Buffer.concat([replica, filler])) ?? filler), '{}')
    assert.equal(text(findFormatReplica(Buffer.concat([filler, replica])) ?? filler), '{}')
    assert.equal(findFormatReplica(filler), undefined)
    assert.equal(findFormatReplica(replica.subarray(0, 1)), undefined)
    const damaged = Buffer.from(replica)
    damaged[2]! ^= 1
    assert.equal(findFormatReplica(damaged), undefined)
    const storage = memoryStorage()
    await storage.put(blobId('p0'), filler)
    assert.equal(await recoverFormatBlob(storage), undefined)
    await storage.put(blobId('q0'), Buffer.concat([replica, Buffer.alloc(200_000)]))
    assert.equal(text((await recoverFormatBlob(storage)) ?? filler), '{}')
  })
})

describe('whole-blob crypto', () => {
  it('names a blob by its hash, so that it decrypts under that name only', async () => {
    for (const name of ['BLAKE2B-256-128', 'BLAKE2B-256', 'HMAC-SHA224']) {
      const hash = await createContentHash(name, secret)
      const encryption = createContentEncryption({ name: format.encryption, secret: masterKey })
      const plaintext = Buffer.from('an index')
      const digest = hex(hash.hash(plaintext))
      const blob = encryptBlob(plaintext, { prefix: 'xn0_', suffix: 's1-c1' }, { hash, encryption })
      assert.equal(blob.id, `xn0_${digest}-s1-c1`)
      assert.equal(hex(blobIv(blob.id)), digest.slice(-32))
      assert.equal(text(decryptBlob(blob.id, blob.bytes, { encryption })), 'an index')
      const other = blob.id.replace(digest, digest.replaceAll(/./g, '0'))
      assert.throws(() => decryptBlob(other, blob.bytes, { encryption }), { code: 'CORRUPT', blobId: other })
      assert.throws(() => decryptBlob('xn0_', blob.bytes, { encryption }), { code: 'CORRUPT' })
    }
  })
})
