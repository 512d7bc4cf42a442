import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gunzipSync, gzipSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { BlockGzip } from './block-gzip.ts'

/** Compresses pieces, waiting whenever the compressor asks for it. */
async function compress(pieces: Iterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  const gzip = new BlockGzip(async bytes => void parts.push(bytes))
  for (const piece of pieces) {
    gzip.write(piece)
    await gzip.ready()
  }
  await gzip.end()
  return Buffer.concat(parts)
}

/** Text with repetitions near and far, and some noise. */
function text(bytes: number, seed: number): Buffer {
  const content = Buffer.alloc(bytes, `{"metadata":{"name":"object-${seed}","labels":{}}},`)
  let state = seed + 1
  for (let at = 0; at < bytes; at += 1 + (state % 97)) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 1
    content[at] = state & 0xff
  }
  return content
}

describe('Gzip in blocks', () => {
  it('is one gzip stream of what was written, whatever its length', async () => {
    const lengths = fc.oneof(
      fc.nat({ max: 3000 }),
      fc.integer({ min: 260_000, max: 265_000 }),
      fc.nat({ max: 900_000 }),
    )
    await fc.assert(
      fc.asyncProperty(lengths, fc.nat(), async (length, seed) => {
        const content = text(length, seed)
        const compressed = await compress([content])
        assert.ok(gunzipSync(compressed).equals(content))
      }),
      { numRuns: 40 },
    )
  })

  it('is one deflate stream from its header to its trailer, for readers that stop at the first end', async () => {
    const compressed = await compress([text(1_000_000, 1)])
    const [headerBytes, trailerBytes] = [10, 8]
    const inflated = inflateRawSync(compressed.subarray(headerBytes), { info: true }) as unknown as {
      engine: { bytesWritten: number }
    }
    assert.equal(inflated.engine.bytesWritten, compressed.length - headerBytes - trailerBytes)
  })

  it('is the same whatever pieces the input came in', async () => {
    const content = text(700_000, 7)
    const pieces = Array.from({ length: 700 }, (_, at) => content.subarray(at * 1000, (at + 1) * 1000))
    assert.ok((await compress(pieces)).equals(await compress([content])))
  })

  it('is hardly longer than one stream, because blocks refer to those before', async () => {
    const content = text(4_000_000, 3)
    assert.ok((await compress([content])).length < gzipSync(content).length * 1.02)
  })

  it('takes bytes that change afterwards', async () => {
    const piece = Buffer.alloc(100_000)
    function* pieces() {
      for (let fill = 0; fill < 20; fill++) yield piece.fill(fill)
    }
    const plain = gunzipSync(await compress(pieces()))
    assert.deepEqual(
      [...new Set(plain)],
      Array.from({ length: 20 }, (_, fill) => fill),
    )
    assert.equal(plain.length, 2_000_000)
  })

  it('asks to wait while the sink is slow, and holds little meanwhile', async () => {
    let release = () => {}
    const gate = new Promise<void>(resolve => {
      release = resolve
    })
    const gzip = new BlockGzip(() => gate)
    let written = 0
    while (gzip.ready() === undefined) {
      gzip.write(Buffer.alloc(10_000))
      written += 10_000
    }
    assert.ok(written < 1_000_000, `${written} bytes were taken`)
    release()
    await gzip.end()
  })

  it('says what the sink said when that fails, at the next write and at the end', async () => {
    const full = new Error('full')
    const gzip = new BlockGzip(async () => {
      throw full
    })
    gzip.write(Buffer.alloc(2_000_000))
    await assert.rejects(async () => await gzip.ready(), full)
    assert.throws(() => gzip.ready(), full)
    await assert.rejects(gzip.end(), full)
  })
})
