import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ServiceError, status } from '@grpc/grpc-js'
import { isObjectStoreError, ObjectStoreError } from '../object-store-error.ts'
import { isPluginError, PluginError, type PluginErrorCode, pluginErrorCodes } from '../plugin-error.ts'
import { errorToStatus } from './error-to-status.ts'
import { parseStatusDetails, serializeStatusDetails, statusDetailsTrailer } from './status-details.ts'
import { statusToError } from './status-to-error.ts'

function travelled(error: unknown): PluginError | ObjectStoreError {
  return statusToError(Object.assign(new Error('gRPC'), errorToStatus(error)), 'asking')
}

/** A failure as grpc-js reports it of a program in Go that sends no details. */
function fromGo(code: status, details: string): PluginError | ObjectStoreError {
  const { metadata } = errorToStatus(new Error('x'))
  metadata.remove(statusDetailsTrailer)
  return statusToError(
    Object.assign(new Error('gRPC'), { code, details, metadata }) as ServiceError,
    'asking',
  )
}

describe('an error on its way from a plugin', () => {
  it('keeps its code, its hint and its text', () => {
    for (const code of Object.keys(pluginErrorCodes) as PluginErrorCode[]) {
      const there = travelled(new PluginError(code, { reason: 'it is so', hint: 'Do this' }))
      assert.ok(isPluginError(there, pluginErrorCodes[code].transport ? 'FAILED' : code))
      assert.deepEqual([there.message, there.hint], ['asking: it is so. Do this', 'Do this'])
    }
    const there = travelled(
      new ObjectStoreError('FULL', { reason: 'no room', hint: 'Tidy', retryable: false }),
    )
    assert.ok(isObjectStoreError(there, 'FULL'))
    assert.deepEqual([there.message, there.hint, there.retryable], ['no room. Tidy', 'Tidy', false])
  })

  it('did not get lost, even if the plugin says that something else of it did', () => {
    const late = new DOMException('The operation timed out', 'TimeoutError')
    const aborted = new DOMException('This operation was aborted', 'AbortError')
    for (const thrown of [new PluginError('TIMEOUT', { reason: 'the disk is slow' }), late, aborted]) {
      const there = travelled(thrown)
      assert.ok(isPluginError(there, 'FAILED') && !there.transport, String(thrown))
    }
  })

  it('tells Velero of a missing object in words that it knows', () => {
    const { details } = errorToStatus(new ObjectStoreError('NOT_FOUND', { reason: 'a/b is away' }))
    assert.equal(details, 'not found: a/b is away')
  })

  it('has the same code in its details, without which Go reports something else', () => {
    for (const error of [
      new Error('x'),
      new TypeError('x'),
      new PluginError('UNIMPLEMENTED', { reason: 'x' }),
    ]) {
      const { code, metadata } = errorToStatus(error)
      assert.equal(parseStatusDetails(metadata.get(statusDetailsTrailer)[0] as Buffer).code, code)
    }
  })

  it('takes less than 8 KiB, whatever its text', () => {
    for (const text of ['x', '€', '\n', '%', '😀', '\ud800']) {
      const { details, metadata } = errorToStatus(new Error(text.repeat(100_000)))
      const message = encodeURIComponent(details).length
      const trailer = (metadata.get(statusDetailsTrailer)[0] as Buffer).toString('base64').length
      assert.ok(message + trailer < 8000, `${message} + ${trailer} bytes for ${text}`)
      assert.ok(details.isWellFormed())
    }
  })

  it('is a panic where the language itself threw it, but for requests that failed', () => {
    assert.equal(errorToStatus(new TypeError('a is undefined')).code, status.ABORTED)
    assert.equal(
      errorToStatus(new TypeError('fetch failed', { cause: new Error('refused') })).code,
      status.UNKNOWN,
    )
    for (const thrown of [undefined, null, 5, {}, 'text'])
      assert.equal(errorToStatus(thrown).code, status.UNKNOWN)
  })
})

describe('a status of a program in Go', () => {
  for (const [code, text, expected] of [
    [status.UNKNOWN, 'Plugin does not support asynchronous operations', 'ASYNC_OPERATIONS_NOT_SUPPORTED'],
    [status.UNKNOWN, 'operation ID x-1 is invalid', 'INVALID_OPERATION_ID'],
    [status.UNKNOWN, ' plugin: x/y was not found or has an invalid name format', 'NO_SUCH_PLUGIN'],
    [status.UNKNOWN, 'anything', 'FAILED'],
    [status.ABORTED, 'plugin panicked: nil map', 'PANICKED'],
    [status.UNIMPLEMENTED, 'unknown service v2.BackupItemAction', 'UNIMPLEMENTED'],
    [status.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (5 vs. 4)', 'TOO_LARGE'],
    [status.RESOURCE_EXHAUSTED, 'quota', 'FAILED'],
    [status.UNAVAILABLE, 'Connection dropped', 'UNAVAILABLE'],
    [status.DEADLINE_EXCEEDED, 'context deadline exceeded', 'FAILED'],
    [status.CANCELLED, 'context canceled', 'FAILED'],
    [status.CANCELLED, 'Call cancelled', 'CANCELLED'],
  ] as const) {
    it(`with ${status[code]} and "${text}" is ${expected}`, () => {
      const error = fromGo(code, text)
      assert.ok(isPluginError(error, expected), error.message)
      assert.equal(error.transport, expected === 'UNAVAILABLE' || expected === 'CANCELLED')
    })
  }

  it('has its text from the details, where headers lost it', () => {
    const { metadata } = errorToStatus(new Error('x'))
    const details = { code: status.UNKNOWN, message: ' starts with a blank', frames: [] }
    metadata.set(statusDetailsTrailer, Buffer.from(serializeStatusDetails(details)))
    const failure = Object.assign(new Error('gRPC'), {
      code: status.UNKNOWN,
      details: '',
      metadata,
    }) as ServiceError
    assert.match(statusToError(failure, 'asking').message, /asking: {2}starts with a blank/)
  })

  it('survives details that are none', () => {
    const { metadata } = errorToStatus(new Error('x'))
    metadata.set(statusDetailsTrailer, Buffer.from([0xff, 0xff]))
    const failure = Object.assign(new Error('gRPC'), {
      code: status.UNKNOWN,
      details: 'text',
      metadata,
    }) as ServiceError
    assert.match(statusToError(failure, 'asking').message, /asking: text/)
  })
})
