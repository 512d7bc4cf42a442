import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Frame, FrameParser, opcode, parseFrame, serializeFrame } from './frames.ts'

const frame: fc.Arbitrary<Frame> = fc.record(
  {
    final: fc.boolean(),
    opcode: fc.constantFrom(...Object.values(opcode)),
    payload: fc
      .oneof(fc.nat({ max: 300 }), fc.constantFrom(125, 126, 127, 65_535, 65_536, 70_000))
      .map(size => Buffer.alloc(size, 'frame ')),
  },
  { noNullPrototype: true },
)
const mask = fc.uint8Array({ minLength: 4, maxLength: 4 }).map(bytes => Buffer.from(bytes))

describe('WebSocket frames', () => {
  it('read back as they were written, wherever the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 4 }),
        mask,
        fc.array(fc.nat(), { maxLength: 9 }),
        (frames, key, cuts) => {
          const bytes = Buffer.concat(frames.map(each => serializeFrame(each, key)))
          const edges = [
            0,
            ...cuts.map(cut => cut % (bytes.length + 1)).toSorted((a, b) => a - b),
            bytes.length,
          ]
          const parser = new FrameParser()
          const read = edges.slice(1).flatMap((end, index) => parser.push(bytes.subarray(edges[index], end)))
          assert.deepEqual(read, frames)
        },
      ),
    )
  })

  it('are those of the examples in RFC 6455, section 5.7', () => {
    const masked = Buffer.from('818537fa213d7f9f4d5158', 'hex')
    const hello: Frame = { final: true, opcode: opcode.text, payload: Buffer.from('Hello') }
    assert.deepEqual(serializeFrame(hello, Buffer.from('37fa213d', 'hex')), masked)
    assert.deepEqual(parseFrame(masked)?.frame, hello)
    assert.deepEqual(parseFrame(Buffer.from('810548656c6c6f', 'hex'))?.frame, hello)
    assert.deepEqual(parseFrame(Buffer.from('010348656c', 'hex'))?.frame, {
      ...hello,
      final: false,
      payload: Buffer.from('Hel'),
    })
  })

  it('that announce more than any sane peer sends are refused before they arrive', () => {
    assert.throws(() => new FrameParser().push(Buffer.from('827f0000ffffffffffff', 'hex')), RangeError)
  })
})
