import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type {
  handleBidiStreamingCall,
  handleClientStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Server,
  ServerDuplexStream,
  ServerReadableStream,
  ServerWritableStream,
  UntypedHandleCall,
} from '@grpc/grpc-js'
import { PluginError } from '../plugin-error.ts'
import { errorToStatus } from '../wire/error-to-status.ts'
import { grpcMethod, type WireMethod } from '../wire/grpc-method.ts'

/** A generated description of a service. */
export interface WireService {
  readonly method: Readonly<Record<string, WireMethod>>
}

/** How a method is implemented: messages in, fields out, errors thrown. The signal aborts when the caller goes away. */
export type HandlerOf<Method> = Method extends {
  methodKind: infer Kind
  input: infer I extends DescMessage
  output: infer O extends DescMessage
}
  ? Kind extends 'unary'
    ? (request: MessageShape<I>, signal: AbortSignal) => Promise<MessageInitShape<O>>
    : Kind extends 'server_streaming'
      ? (request: MessageShape<I>, signal: AbortSignal) => AsyncIterable<MessageInitShape<O>>
      : Kind extends 'client_streaming'
        ? (requests: AsyncIterable<MessageShape<I>>, signal: AbortSignal) => Promise<MessageInitShape<O>>
        : (
            requests: AsyncIterable<MessageShape<I>>,
            signal: AbortSignal,
          ) => AsyncIterable<MessageInitShape<O>>
  : never

export type HandlersOf<Service extends WireService> = {
  readonly [Name in keyof Service['method']]: HandlerOf<Service['method'][Name]>
}

/** Adds a service to a server. */
export function implementService<Service extends WireService>(
  server: Server,
  service: Service,
  handlers: HandlersOf<Service>,
): void {
  const methods = Object.entries(service.method)
  const definitions = methods.map(([name, method]) => [name, grpcMethod(method)])
  const calls = methods.map(([name, { methodKind }]) => {
    return [name, wrappers[methodKind](handlers[name] as never)]
  })
  server.addService(Object.fromEntries(definitions), Object.fromEntries(calls))
}

type Fields = object
type Stream<Message> = AsyncIterable<Message>
type Unary = (request: unknown, signal: AbortSignal) => Promise<Fields>
type ServerStreaming = (request: unknown, signal: AbortSignal) => Stream<Fields>
type ClientStreaming = (requests: Stream<unknown>, signal: AbortSignal) => Promise<Fields>
type BidiStreaming = (requests: Stream<unknown>, signal: AbortSignal) => Stream<Fields>

const wrappers = {
  unary: (handler: Unary): handleUnaryCall<unknown, Fields> => {
    return (call, callback) => {
      const answer = Promise.try(handler, call.request, signalOf(call))
      answer.then(
        fields => callback(null, fields),
        error => callback(errorToStatus(error)),
      )
    }
  },
  server_streaming: (handler: ServerStreaming): handleServerStreamingCall<unknown, Fields> => {
    return call => void sendAll(call, () => handler(call.request, signalOf(call)))
  },
  client_streaming: (handler: ClientStreaming): handleClientStreamingCall<unknown, Fields> => {
    return (call, callback) => {
      const requests = received(call)
      const answer = Promise.try(handler, requests, signalOf(call))
      answer.then(
        fields => callback(null, fields),
        async error => {
          // Velero tells of an EOF instead of the error if the call ends while it still sends.
          await requests.return(undefined)
          await readToEnd(call)
          callback(errorToStatus(error))
        },
      )
    }
  },
  bidi_streaming: (handler: BidiStreaming): handleBidiStreamingCall<unknown, Fields> => {
    return call => void sendAll(call, () => handler(received(call), signalOf(call)))
  },
} satisfies Record<WireMethod['methodKind'], (handler: never) => UntypedHandleCall>

interface Cancellable {
  cancelled: boolean
  on(event: 'cancelled', listener: () => void): unknown
}

/** A call that is complete is reported as cancelled too, which then matters to nobody. */
function signalOf(call: Cancellable): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(gone())
  if (call.cancelled) abort()
  else call.on('cancelled', abort)
  return controller.signal
}

function gone(): PluginError {
  return new PluginError('CANCELLED', { reason: 'the caller has gone away' })
}

type Incoming = ServerReadableStream<unknown, Fields> | ServerDuplexStream<unknown, Fields>

/** The messages of a caller. A caller that goes away in the middle is an error here, never an end. */
async function* received(call: Incoming): AsyncGenerator<unknown> {
  try {
    for await (const message of call.iterator({ destroyOnReturn: false })) yield message
  } catch (cause) {
    throw call.cancelled ? gone() : cause
  }
  // A stream that was reset ends first and is reported as cancelled afterwards.
  await setImmediate()
  if (call.cancelled) throw gone()
}

async function readToEnd(call: Incoming): Promise<void> {
  if (call.readableEnded || call.destroyed) return
  const ended = Promise.race([once(call, 'end'), once(call, 'close')])
  call.resume()
  await ended.catch(() => {})
}

type Outgoing = ServerWritableStream<unknown, Fields> | ServerDuplexStream<unknown, Fields>

async function sendAll(call: Outgoing, messages: () => Stream<Fields>): Promise<void> {
  try {
    for await (const fields of messages()) {
      if (call.cancelled) return
      if (!call.write(fields)) await Promise.race([once(call, 'drain'), once(call, 'cancelled')])
    }
    call.end()
  } catch (error) {
    if (!call.cancelled) call.emit('error', errorToStatus(error))
  }
}
