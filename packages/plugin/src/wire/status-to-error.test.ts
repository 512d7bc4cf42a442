import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { isPluginError } from '../plugin-error.ts'
import { statusToError } from './status-to-error.ts'

describe('a call that does not come to its end', () => {
  const server = createServer()
  let client: Client

  before(async () => {
    server.on('stream', (stream, { ':path': path }) => {
      if (path === '/test/Reset') stream.close(constants.NGHTTP2_CANCEL)
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

  /** Calls, and cancels the call once it is on its way if that is asked for. */
  function failed(method: string, { cancelled }: { cancelled: boolean }): Promise<ServiceError> {
    const same = (bytes: Buffer) => bytes
    return new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(method, same, same, Buffer.alloc(0), error => {
        if (error === null) reject(new Error('there is an answer'))
        else resolve(error)
      })
      if (cancelled) call.cancel()
    })
  }

  it('because its stream was reset is one that got lost, in whatever words gRPC says so', async () => {
    const error = statusToError(await failed('/test/Reset', { cancelled: false }), 'asking')
    assert.ok(isPluginError(error, 'CANCELLED') && error.transport, error.message)
  })

  it('because its caller ended it is one that got lost', async () => {
    const error = statusToError(await failed('/test/Hang', { cancelled: true }), 'asking')
    assert.ok(isPluginError(error, 'CANCELLED') && error.transport, error.message)
  })
})
