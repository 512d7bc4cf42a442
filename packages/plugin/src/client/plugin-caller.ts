import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { Client, ClientReadableStream, ClientWritableStream, ServiceError } from '@grpc/grpc-js'
import { Metadata } from '@grpc/grpc-js'
import type { ObjectStoreError } from '../object-store-error.ts'
import { PluginError } from '../plugin-error.ts'
import { grpcMethod, type WireMethod } from '../wire/grpc-method.ts'
import { statusToError } from '../wire/status-to-error.ts'

/** One call. */
export interface CallOptions {
  /** What is asked, for messages to people, such as `executing on Pod a/b`. */
  doing: string
  signal?: AbortSignal | undefined
  /** Whether the answer may be waited for as long as it takes. Otherwise the caller's time for short calls applies. */
  long?: boolean
}

/** How a caller reaches its plugin. */
export interface CallerOptions {
  client: Client
  /** The name that requests carry and messages tell. */
  plugin: string
  /** Limit for calls that no plugin has reason to take long for. */
  shortCallMs: number
  /**
   * Ends the program at once. Some plugins make what they were sent until a failure complete, such as Velero's for GCP: only their end keeps them from it.
   * Without this such a call is spoiled.
   */
  breakOff?: (() => void) | undefined
}

/** Makes calls to one plugin and turns what comes back into values and errors. */
export class PluginCaller {
  readonly plugin: string
  readonly #client: Client
  readonly #shortCallMs: number
  readonly #breakOff: (() => void) | undefined

  constructor({ client, plugin, shortCallMs, breakOff }: CallerOptions) {
    this.plugin = plugin
    this.#client = client
    this.#shortCallMs = shortCallMs
    this.#breakOff = breakOff
  }

  /** Asks and waits for the answer. Rejects with a PluginError, an ObjectStoreError that the plugin sent, or the signal's reason. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: WireMethod<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    const { path, requestSerialize, responseDeserialize } = grpcMethod(method)
    return this.#settle(options, callback =>
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize as (bytes: Buffer) => MessageShape<O>,
        request,
        new Metadata(),
        callback,
      ),
    )
  }

  /**
   * Sends what `write` writes, and waits for the answer and for the end of `write`, whose signal aborts when the call has an outcome.
   * When `write` rejects, the call is broken off and its error passed on.
   */
  async clientStream<I extends DescMessage, O extends DescMessage>(
    method: WireMethod<I, O>,
    write: Write<MessageInitShape<I>>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    const { path, requestSerialize, responseDeserialize } = grpcMethod(method)
    const over = new AbortController()
    let writing: Promise<void> | undefined
    const answer = this.#settle<MessageShape<O>>(options, (callback, fail) => {
      const call: ClientWritableStream<MessageInitShape<I> | typeof spoiled> =
        this.#client.makeClientStreamRequest(
          path,
          message => (message === spoiled ? spoiled : requestSerialize(message as MessageInitShape<I>)),
          responseDeserialize as (bytes: Buffer) => MessageShape<O>,
          new Metadata(),
          callback,
        )
      // The status of the call tells what is wrong with the stream.
      call.on('error', () => {})
      const cancel = this.#breakOff ?? (() => void call.write(spoiled))
      writing = write(message => sent(call, message, over.signal), over.signal).then(
        () => void call.end(),
        error => {
          // It has an outcome already: the plugin is done with what it was sent.
          if (over.signal.aborted) return
          fail(error)
          cancel()
        },
      )
      return { cancel }
    })
    try {
      return await answer
    } finally {
      over.abort(new PluginError('CANCELLED', { reason: 'the call has ended' }))
      await writing
    }
  }

  /** Asks for a stream. The caller reads it to its end or cancels it; what it fails with is for `failure`. */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: WireMethod<I, O>,
    request: MessageInitShape<I>,
  ): ClientReadableStream<MessageShape<O>> {
    const { path, requestSerialize, responseDeserialize } = grpcMethod(method)
    return this.#client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize as (bytes: Buffer) => MessageShape<O>,
      request,
      new Metadata(),
    )
  }

  /** What a call failed with, for its caller. */
  failure(error: unknown, { doing, signal }: CallOptions): unknown {
    if (signal?.aborted) return signal.reason
    return isServiceError(error) ? this.#error(error, doing) : error
  }

  #error(error: ServiceError, doing: string): PluginError | ObjectStoreError {
    return statusToError(error, `plugin ${this.plugin}, ${doing}`)
  }

  async #settle<Answer>(options: CallOptions, start: StartCall<Answer>): Promise<Answer> {
    const { signal, doing, long = false } = options
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const call = this.#started(doing, () =>
      start((error, answer) => {
        if (error !== null || answer === undefined) reject(this.failure(error, options))
        else resolve(answer)
      }, reject),
    )
    const stop = (reason: unknown) => {
      reject(reason)
      call.cancel()
    }
    const abort = () => stop(signal?.reason)
    // Not gRPC's deadline, which is a time of day and wrong when the clock is set.
    const limit = long ? undefined : setTimeout(() => stop(this.#tooLate(doing)), this.#shortCallMs)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      return await promise
    } finally {
      clearTimeout(limit)
      signal?.removeEventListener('abort', abort)
    }
  }

  /** A connection that was closed takes no calls, and says so at once. */
  #started<Call>(doing: string, start: () => Call): Call {
    try {
      return start()
    } catch (cause) {
      const reason = `plugin ${this.plugin}, ${doing}: ${cause instanceof Error ? cause.message : cause}`
      throw new PluginError('UNAVAILABLE', { reason, cause })
    }
  }

  #tooLate(doing: string): PluginError {
    const reason = `plugin ${this.plugin}, ${doing}: no answer within ${this.#shortCallMs / 1000} s`
    return new PluginError('TIMEOUT', { reason })
  }
}

/** Sends messages. `send` resolves to false when the call takes no more of them. */
export type Write<Message> = (
  send: (message: Message) => Promise<boolean>,
  over: AbortSignal,
) => Promise<void>

type Callback<Answer> = (error: ServiceError | null, answer?: Answer) => void
type StartCall<Answer> = (callback: Callback<Answer>, fail: (error: unknown) => void) => { cancel(): void }

/** Whether this is what gRPC reports of a call that failed. */
export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error
}

/**
 * No message at all, and no plugin takes it for one. It ends a call that must not be taken for complete: when such a call is cancelled,
 * Node may drop what is still to be sent and end the sending half of the stream before it resets it, and a plugin that reads the end
 * before the reset stores a part for the whole. A plugin that never reads this far stores nothing; one that takes a failure for the end stores
 * a part all the same, and must be ended instead.
 */
const spoiled = Buffer.from([0xff])

/** Resolves once the message is on its way: true, or false when the call has ended and takes no more, or nobody waits for it any more. */
function sent<Message>(
  call: ClientWritableStream<Message>,
  message: Message,
  over: AbortSignal,
): Promise<boolean> {
  return new Promise(resolve => {
    if (call.destroyed || call.writableEnded || over.aborted) {
      resolve(false)
      return
    }
    const ended = () => resolve(false)
    call.once('status', ended)
    // A plugin that reads no more lets no message pass.
    over.addEventListener('abort', ended, { once: true })
    call.write(message, (error?: Error | null) => {
      call.off('status', ended)
      over.removeEventListener('abort', ended)
      resolve(!error)
    })
  })
}
