import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { KubeError } from '../errors.ts'
import type { Api } from '../http/api.ts'
import { describeSubject } from '../http/kube-request.ts'
import { type Frame, FrameParser, opcode, serializeFrame } from './frames.ts'
import { openUpgrade, type UpgradeRequest } from './open-upgrade.ts'

/** One message of a Kubernetes channel protocol: its first byte is the channel. */
export interface ChannelMessage {
  channel: number
  data: Buffer
}

/** Several byte streams over one WebSocket, as exec and port-forward use it. */
export interface ChannelSocket {
  readonly protocol: string
  /**
   * Messages until the peer closes. Reading slowly slows the peer down. Throws when the connection breaks, and
   * the signal's reason when aborted.
   */
  messages(): AsyncGenerator<ChannelMessage, void, undefined>
  /** Resolves when the socket can take more. */
  send(message: ChannelMessage): Promise<void>
  /** Says goodbye and closes. */
  close(): void
}

/** Status 1000. */
const normalClosure = Buffer.from([0x03, 0xe8])

/** Opens a channel socket. Throws a KubeError when the server refuses. */
export async function openChannelSocket(api: Api, upgrade: UpgradeRequest): Promise<ChannelSocket> {
  const { socket, protocol } = await openUpgrade(api, upgrade)
  const { signal, subject } = upgrade
  const abort = () => socket.destroy()
  signal?.addEventListener('abort', abort, { once: true })
  socket.once('close', () => signal?.removeEventListener('abort', abort))
  // Failures reach whoever reads or writes; without a listener they would end the process.
  socket.on('error', () => undefined)
  if (signal?.aborted) socket.destroy()
  return {
    protocol,
    async *messages() {
      try {
        yield* readMessages(socket)
      } catch (cause) {
        signal?.throwIfAborted()
        throw broken(describeSubject(subject), cause)
      }
      signal?.throwIfAborted()
    },
    send: ({ channel, data }) =>
      writeFrame(socket, opcode.binary, Buffer.concat([Buffer.from([channel]), data])),
    close() {
      if (socket.destroyed || socket.writableEnded) return
      const goodbye: Frame = { final: true, opcode: opcode.close, payload: normalClosure }
      socket.end(serializeFrame(goodbye, newMask()), () => socket.destroy())
    },
  }
}

async function* readMessages(socket: Duplex): AsyncGenerator<ChannelMessage, void, undefined> {
  const parser = new FrameParser()
  const join = messageJoiner()
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    for (const frame of parser.push(chunk as Buffer)) {
      if (frame.opcode === opcode.close) return
      if (frame.opcode === opcode.ping) await writeFrame(socket, opcode.pong, frame.payload)
      const message = join(frame)
      if (message.length > 0) yield { channel: message.readUInt8(0), data: message.subarray(1) }
    }
  }
}

/** Puts fragmented messages together. Gives an empty one while more is to come, and for control frames. */
function messageJoiner(): (frame: Frame) => Buffer {
  let parts: Buffer[] = []
  return frame => {
    if (frame.opcode > opcode.binary) return Buffer.alloc(0)
    parts.push(frame.payload)
    if (!frame.final) return Buffer.alloc(0)
    const message = Buffer.concat(parts)
    parts = []
    return message
  }
}

async function writeFrame(socket: Duplex, type: number, payload: Buffer): Promise<void> {
  if (socket.destroyed || socket.writableEnded) return
  const room = socket.write(serializeFrame({ final: true, opcode: type, payload }, newMask()))
  if (room) return
  await Promise.race([once(socket, 'drain'), once(socket, 'close')])
}

/** RFC 6455 asks for unpredictable masks, so these come from no seeded source. */
function newMask(): Buffer {
  return randomBytes(4)
}

function broken(what: string, cause: unknown): KubeError {
  return new KubeError('StreamFailed', {
    message: `cannot ${what}: the stream broke off`,
    hint: 'the node, the API server or the network went away: check the pod and try again',
    mayHaveActed: true,
    cause,
  })
}
