import { Readable } from 'node:stream'
import type { ClientReadableStream } from '@grpc/grpc-js'
import type { ObjectBody, ObjectStore } from '../object-store.ts'
import { portableKeyProblem } from '../object-store.ts'
import { isObjectStoreError, ObjectStoreError, type ObjectStoreErrorCode } from '../object-store-error.ts'
import { isPluginError, type PluginError, type PluginErrorCode } from '../plugin-error.ts'
import { type Bytes, ObjectStore as Service } from '../proto/velero/object-store_pb.ts'
import { readBody } from '../read-body.ts'
import { definedSettings } from '../wire/settings.ts'
import { sentText } from '../wire/status-to-error.ts'
import { type CallOptions, isServiceError, type PluginCaller } from './plugin-caller.ts'

/** What Velero sends; every plugin has seen it. */
const CHUNK_BYTES = 16_384
const NANOSECONDS = 1_000_000_000n

/** An object store in a plugin program. Disposing it does not end the program. */
export function objectStoreClient(caller: PluginCaller): ObjectStore {
  const { plugin } = caller
  const { method } = Service

  async function objectExists({ bucket, key, signal }: Place): Promise<boolean> {
    const options = { doing: `looking for ${bucket}/${key}`, signal, long: true }
    const answer = caller.unary(method.objectExists, { plugin, bucket, key }, options)
    return (await storeErrors(answer, [key, bucket])).exists
  }

  /** Whether a call has failed because there is no such object. Each plugin has words of its own for that, and one question that all answer. */
  async function isMissing(error: unknown, place: Place): Promise<boolean> {
    if (isObjectStoreError(error, 'NOT_FOUND')) return true
    if (!isObjectStoreError(error, 'UNKNOWN')) return false
    return !(await objectExists(place).catch(() => true))
  }

  return {
    async init({ config, signal }) {
      const request = { plugin, config: definedSettings(config) }
      await storeErrors(caller.unary(method.init, request, { doing: 'initialising', signal }), [])
    },
    async putObject({ bucket, key, body, signal }) {
      const problem = portableKeyProblem(key)
      if (problem !== undefined) {
        throw new ObjectStoreError('UNSAFE_KEY', {
          reason: `the key ${JSON.stringify(key)} cannot be used: ${problem}`,
        })
      }
      const doing = `storing ${bucket}/${key}`
      const put = caller.clientStream(
        method.putObject,
        async (send, over) => {
          let sentAny = false
          for await (const chunk of chunks(body, signal ? AbortSignal.any([signal, over]) : over)) {
            sentAny = true
            if (!(await send({ plugin, bucket, key, body: chunk }))) return
          }
          // Without any message the plugin would not know what to store.
          if (!sentAny) await send({ plugin, bucket, key, body: new Uint8Array() })
        },
        { doing, signal, long: true },
      )
      await storeErrors(put, [key, bucket])
    },
    objectExists,
    async getObject({ bucket, key, signal }) {
      const options = { doing: `reading ${bucket}/${key}`, signal, long: true }
      signal?.throwIfAborted()
      const stream = caller.serverStream(method.getObject, { plugin, bucket, key })
      try {
        return await openObject(stream, { caller, options, names: [key, bucket] })
      } catch (error) {
        if (isObjectStoreError(error, 'NOT_FOUND')) throw error
        if (!(await isMissing(error, { bucket, key, signal }))) throw error
        throw new ObjectStoreError('NOT_FOUND', { reason: messageOf(error), cause: error })
      }
    },
    async *listCommonPrefixes({ bucket, prefix, delimiter, signal }) {
      const options = { doing: `listing ${bucket}/${prefix}`, signal, long: true }
      const request = { plugin, bucket, prefix, delimiter }
      const answer = caller.unary(method.listCommonPrefixes, request, options)
      yield* inOrder((await storeErrors(answer, [prefix, bucket])).prefixes)
    },
    async *listObjects({ bucket, prefix, signal }) {
      const options = { doing: `listing ${bucket}/${prefix}`, signal, long: true }
      const answer = caller.unary(method.listObjects, { plugin, bucket, prefix }, options)
      yield* inOrder((await storeErrors(answer, [prefix, bucket])).keys)
    },
    async deleteObject({ bucket, key, signal }) {
      const options = { doing: `deleting ${bucket}/${key}`, signal, long: true }
      const answer = caller.unary(method.deleteObject, { plugin, bucket, key }, options)
      try {
        await storeErrors(answer, [key, bucket])
      } catch (error) {
        if (!(await isMissing(error, { bucket, key, signal }))) throw error
      }
    },
    async createSignedUrl({ bucket, key, ttlSeconds, signal }) {
      const options = { doing: `signing a URL for ${bucket}/${key}`, signal, long: true }
      const ttl = BigInt(Math.ceil(ttlSeconds)) * NANOSECONDS
      const answer = caller.unary(method.createSignedURL, { plugin, bucket, key, ttl }, options)
      return (await storeErrors(answer, [key, bucket])).url
    },
    async [Symbol.asyncDispose]() {},
  }
}

interface Place {
  bucket: string
  key: string
  signal?: AbortSignal | undefined
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function* chunks(body: ObjectBody, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const part of readBody(body, signal)) {
    for (let start = 0; start < part.length; start += CHUNK_BYTES)
      yield part.subarray(start, start + CHUNK_BYTES)
  }
}

/** Waits for the first bytes or the end: only then is it known whether the object exists. */
async function openObject(
  stream: ClientReadableStream<Bytes>,
  { caller, options, names }: { caller: PluginCaller; options: CallOptions; names: readonly string[] },
): Promise<Readable> {
  const { signal } = options
  const abort = () => stream.cancel()
  signal?.addEventListener('abort', abort, { once: true })
  const parts = stream[Symbol.asyncIterator]()
  const failure = (error: unknown) => storeError(caller.failure(error, options), names)
  const next = () =>
    parts.next().catch((error: unknown) => {
      throw failure(error)
    })
  let first = await next()
  async function* bytes() {
    try {
      for (let part = first; part.done !== true; part = await next()) {
        first = part
        if (part.value.data.length > 0) yield part.value.data
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      stream.cancel()
    }
  }
  return Readable.from(bytes(), { objectMode: false, highWaterMark: CHUNK_BYTES * 4 })
}

/** `names` are those that the plugin was given, and may repeat. */
async function storeErrors<Answer>(answer: Promise<Answer>, names: readonly string[]): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    throw storeError(error, names)
  }
}

/** Plugins in Go tell what happened in words alone; these are the ones that matter to callers. */
const told: readonly [RegExp, ObjectStoreErrorCode][] = [
  [/NoSuchBucket/i, 'NO_BUCKET'],
  [/not found|does not exist|doesn't exist|NoSuchKey|BlobNotFound|ObjectNotExist/i, 'NOT_FOUND'],
  [/AccessDenied|Forbidden/i, 'ACCESS_DENIED'],
  [/InvalidAccessKeyId|SignatureDoesNotMatch|NoCredentialProviders|get credentials/i, 'BAD_CREDENTIALS'],
  [/RequestTimeTooSkewed/i, 'CLOCK_SKEW'],
  [/x509|certificate/i, 'TLS'],
  [/no such host|connection refused|network is unreachable/i, 'UNREACHABLE'],
  [/deadline exceeded/i, 'TIMEOUT'],
]

const codes: Partial<Record<PluginErrorCode, ObjectStoreErrorCode>> = {
  UNAVAILABLE: 'UNREACHABLE',
  TIMEOUT: 'TIMEOUT',
  CANCELLED: 'ABORTED',
}

function storeError(error: unknown, names: readonly string[]): unknown {
  if (!isPluginError(error)) return error
  return new ObjectStoreError(codeOf(error, names), { reason: error.message, cause: error })
}

function codeOf(error: PluginError, names: readonly string[]): ObjectStoreErrorCode {
  if (error.code !== 'FAILED') return codes[error.code] ?? 'UNKNOWN'
  const words = ownWords(error, names)
  return told.find(([pattern]) => pattern.test(words))?.[1] ?? 'UNKNOWN'
}

/** What the plugin itself said: of a schedule called `certificates` every key would tell of trouble with TLS. */
function ownWords({ cause, message }: PluginError, names: readonly string[]): string {
  const said = isServiceError(cause) ? sentText(cause) : message
  return names.reduce((text, name) => {
    const whole = new RegExp(`(?<!\\w)${RegExp.escape(name)}(?!\\w)`, 'g')
    return name === '' ? text : text.replace(whole, '')
  }, said)
}

function inOrder(keys: string[]): string[] {
  return keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}
