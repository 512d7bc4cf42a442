import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { Client, credentials, status } from '@grpc/grpc-js'
import { isObjectStoreError } from '../object-store-error.ts'
import { serializeStatusDetails, statusDetailsTrailer } from '../wire/status-details.ts'
import { objectStoreClient } from './object-store-client.ts'
import { PluginCaller } from './plugin-caller.ts'

/** Answers with a message that says nothing: its only field is false. */
function no(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(Buffer.alloc(5))
}

describe('what a plugin says of an object store', () => {
  const server = createServer()
  let client: Client
  let said = ''
  let withDetails = false
  /** Whether the plugin says that there is no object, when it is asked. */
  let isAsked = false

  before(async () => {
    server.on('stream', (stream, headers) => {
      if (isAsked && headers[':path']?.endsWith('/ObjectExists')) return no(stream)
      const details = serializeStatusDetails({ code: status.UNKNOWN, message: said, frames: [] })
      stream.respond(
        {
          ...{ ':status': 200, 'content-type': 'application/grpc' },
          ...{ 'grpc-status': String(status.UNKNOWN), 'grpc-message': said },
          ...(withDetails && { [statusDetailsTrailer]: Buffer.from(details).toString('base64') }),
        },
        { endStream: true },
      )
      stream.on('error', () => undefined)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  })
  after(() => {
    client.close()
    server.close()
  })

  /** The codes of all calls about an object, and whether they may be made again. */
  async function codesOf(place: { bucket: string; key: string }, words: string): Promise<string[]> {
    said = words
    const caller = new PluginCaller({ client, plugin: 'example.io/forbidden', shortCallMs: 60_000 })
    const store = objectStoreClient(caller)
    const { bucket, key: prefix } = place
    const calls = [
      () => store.putObject({ ...place, body: Buffer.from('x') }),
      () => store.getObject(place),
      () => store.objectExists(place),
      () => store.deleteObject(place),
      () => store.createSignedUrl({ ...place, ttlSeconds: 1 }),
      () => Array.fromAsync(store.listObjects({ bucket, prefix })),
      () => Array.fromAsync(store.listCommonPrefixes({ bucket, prefix, delimiter: '/' })),
    ]
    const codes = new Set<string>()
    for (const call of calls) {
      await assert.rejects(call, error => {
        assert.ok(isObjectStoreError(error))
        codes.add(`${error.code}${error.retryable ? ', may be retried' : ''}`)
        return true
      })
    }
    return [...codes]
  }

  const daily = { bucket: 'forbidden-x', key: 'backups/certificates-daily-1/velero-backup.json' }

  for (const sent of [false, true]) {
    it(`is told from the names that it was given, ${sent ? 'with' : 'without'} details`, async () => {
      withDetails = sent
      for (const words of [
        'context deadline exceeded',
        `error putting object ${daily.key}: context deadline exceeded`,
        `Put "https://${daily.bucket}.s3.example.com/${daily.key}": context deadline exceeded`,
      ]) {
        assert.deepEqual(await codesOf(daily, words), ['TIMEOUT, may be retried'], words)
      }
    })
  }

  it('counts whatever the names are', async () => {
    const words = `error getting object ${daily.key}: x509: certificate signed by unknown authority`
    assert.deepEqual(await codesOf(daily, words), ['TLS'])
    assert.deepEqual(await codesOf({ bucket: 'for', key: 'den' }, 'Forbidden'), ['ACCESS_DENIED'])
    assert.deepEqual(await codesOf(daily, 'something else'), ['UNKNOWN'])
  })

  it('was taken for trouble when a plugin had its own words for what is not there', async () => {
    const store = objectStoreClient(
      new PluginCaller({ client, plugin: 'example.io/forbidden', shortCallMs: 60_000 }),
    )
    for (const words of ["storage: object doesn't exist", 'no such blob over here']) {
      said = words
      isAsked = true
      await assert.rejects(store.getObject(daily), { code: 'NOT_FOUND' }, words)
      await store.deleteObject(daily)
    }
    isAsked = false
    await assert.rejects(store.deleteObject(daily), { code: 'UNKNOWN' })
  })
})
