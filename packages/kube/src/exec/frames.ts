/** Frame types of RFC 6455, section 5.2. */
export const opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface Frame {
  /** The last of its message. */
  final: boolean
  opcode: number
  payload: Buffer
}

const finalBit = 0x80
const maskBit = 0x80
const opcodeBits = 0x0f
const lengthBits = 0x7f
const shortLength = 126
const longLength = 127
/** A larger frame is no sane peer's; without a limit a length field alone could ask for all memory. */
const maxPayloadBytes = 64 * 1024 * 1024

/** The bytes of one frame, masked as clients must. `mask` is four fresh random bytes. */
export function serializeFrame({ final, opcode, payload }: Frame, mask: Buffer): Buffer {
  const extended = payload.length < shortLength ? 0 : payload.length <= 0xffff ? 2 : 8
  const bytes = Buffer.allocUnsafe(2 + extended + 4 + payload.length)
  bytes[0] = (final ? finalBit : 0) | opcode
  bytes[1] = maskBit | (extended === 0 ? payload.length : extended === 2 ? shortLength : longLength)
  if (extended === 2) bytes.writeUInt16BE(payload.length, 2)
  if (extended === 8) bytes.writeBigUInt64BE(BigInt(payload.length), 2)
  mask.copy(bytes, 2 + extended)
  const body = bytes.subarray(2 + extended + 4)
  payload.copy(body)
  applyMask(body, mask)
  return bytes
}

/** Finds frames in a byte stream that may be cut anywhere. */
export class FrameParser {
  #pending: Buffer = Buffer.alloc(0)

  /** The frames that are complete with this chunk. Throws RangeError for one that is far too large. */
  push(chunk: Buffer): Frame[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const frames: Frame[] = []
    for (let next = parseFrame(this.#pending); next !== undefined; next = parseFrame(this.#pending)) {
      frames.push(next.frame)
      this.#pending = this.#pending.subarray(next.length)
    }
    return frames
  }
}

/** The frame at the start of `bytes`, or undefined while it is not complete. */
export function parseFrame(bytes: Buffer): { frame: Frame; length: number } | undefined {
  const layout = frameLayout(bytes)
  if (layout === undefined || bytes.length < layout.end) return undefined
  const payload = Buffer.from(bytes.subarray(layout.payloadAt, layout.end))
  if (layout.masked) applyMask(payload, bytes.subarray(layout.payloadAt - 4, layout.payloadAt))
  const first = bytes.readUInt8(0)
  return {
    frame: { final: (first & finalBit) !== 0, opcode: first & opcodeBits, payload },
    length: layout.end,
  }
}

function frameLayout(bytes: Buffer) {
  if (bytes.length < 2) return undefined
  const second = bytes.readUInt8(1)
  const masked = (second & maskBit) !== 0
  const short = second & lengthBits
  const extended = short === shortLength ? 2 : short === longLength ? 8 : 0
  if (bytes.length < 2 + extended) return undefined
  const size =
    extended === 0 ? short : extended === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (size > maxPayloadBytes) throw new RangeError(`a frame of ${size} bytes is too large`)
  const payloadAt = 2 + extended + (masked ? 4 : 0)
  return { masked, payloadAt, end: payloadAt + size }
}

function applyMask(bytes: Buffer, mask: Buffer): void {
  for (let at = 0; at < bytes.length; at++) bytes[at] = (bytes[at] as number) ^ (mask[at & 3] as number)
}
