import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { defaultJsonLimits, type JsonLimits, objectLimits, readStoredJson } from './stored-json.ts'

describe('JSON in a bucket that anybody may have written', () => {
  const read = (bytes: Buffer, limits: Partial<JsonLimits> = {}, compressed = true) =>
    readStoredJson({
      ...{ key: 'backups/b/b.json.gz', stored: Readable.from([bytes]), compressed, signal: undefined },
      limits: { ...defaultJsonLimits, ...limits },
    })
  const refused = (reading: Promise<unknown>, message: RegExp) =>
    assert.rejects(reading, { code: 'STORE_FAULT', retryable: false, message })

  it('is read within its limits', async () => {
    assert.deepEqual(await read(gzipSync('{"a":[1]}')), { a: [1] })
    assert.deepEqual(await read(Buffer.from('{"a":[1]}'), {}, false), { a: [1] })
    assert.deepEqual(await read(gzipSync('["[[["]'), { depth: 1 }), ['[[['])
  })

  it('is refused as a bomb by its ratio, long before it fills memory', async () => {
    const bomb = gzipSync(Buffer.alloc(64 << 20))
    assert.ok(bomb.length < 100_000)
    await refused(read(bomb), /b\.json\.gz is a bomb: \d+ bytes decompress to \d+ and more/)
  })

  it('is refused by its length, decompressed or as it is stored', async () => {
    const long = JSON.stringify('x'.repeat(2000))
    await refused(read(gzipSync(long), { bytes: 1000 }), /is longer than 1000 bytes/)
    await refused(read(Buffer.from(long), { bytes: 1000 }, false), /is longer than 1000 bytes/)
    const objects = Buffer.from(JSON.stringify('x'.repeat(objectLimits.bytes)))
    await refused(read(objects, objectLimits, false), new RegExp(`longer than ${objectLimits.bytes} bytes`))
  })

  it('is refused when it is nested so deep that who writes it again runs out of stack', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    await refused(read(gzipSync(deep)), /is nested 100000 deep, more than 200/)
    await refused(read(gzipSync(`${'{"a":'.repeat(201)}1${'}'.repeat(201)}`)), /nested 201 deep/)
  })

  it('is refused when it is no gzip, cut or no JSON', async () => {
    await refused(read(Buffer.from('{}')), /cannot be decompressed/)
    await refused(read(gzipSync('{"a":1}').subarray(0, -6)), /cannot be decompressed/)
    await refused(read(gzipSync('{"a":')), /is not JSON/)
  })
})
