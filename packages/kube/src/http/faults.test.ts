import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freePort } from '../../../../tools/test/free-port.ts'
import { createKubeClient } from '../create-kube-client.ts'
import { isForbidden, isUnauthorized, KubeError, textOf } from '../errors.ts'
import type { ResourceType, Unstructured } from '../object.ts'
import { fixedConfig, sendStatus, startFaultServer } from '../testing/fault-server.ts'

const widgets: ResourceType<Unstructured> = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
}
const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a', namespace: 'n' } }

async function failureOf(promise: Promise<unknown>): Promise<KubeError> {
  try {
    await promise
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error))
    return error
  }
  throw new Error('it succeeded')
}

describe('A call to a server in trouble', () => {
  it('waits as long as each 429 asks and then succeeds, for creates, too', async () => {
    await using server = await startFaultServer((_request, response, number) => {
      if (number > 3) return void response.end(JSON.stringify(widget))
      response.setHeader('retry-after', String(number))
      sendStatus(response, 429, { reason: 'TooManyRequests', message: 'slow down' })
    })
    assert.deepEqual(await server.client.resource(widgets, 'n').create(widget), widget)
    assert.equal(server.requests.length, 4)
    assert.deepEqual(
      server.waits.map(wait => Math.floor(wait / 1000)),
      [1, 2, 3],
    )
  })

  it('ends a storm of 429 after the attempts it was given, with the reason', async () => {
    await using server = await startFaultServer((_request, response) => sendStatus(response, 429), {
      retry: { attempts: 4 },
    })
    const error = await failureOf(server.client.resource(widgets, 'n').get('a'))
    assert.equal(error.code, 'TooManyRequests')
    assert.equal(server.requests.length, 4)
  })

  it('repeats a read that met 500, and one whose connection was reset', async () => {
    await using server = await startFaultServer((request, response, number) => {
      if (number === 1) return sendStatus(response, 500)
      if (number === 2) return void request.socket.resetAndDestroy()
      response.end(JSON.stringify(widget))
    })
    assert.deepEqual(await server.client.resource(widgets, 'n').get('a'), widget)
    assert.equal(server.requests.length, 3)
  })

  it('never repeats a create that may have been carried out', async () => {
    await using server = await startFaultServer((request, response, number) => {
      if (number === 1) return sendStatus(response, 500)
      request.socket.resetAndDestroy()
    })
    const first = await failureOf(server.client.resource(widgets, 'n').create(widget))
    const second = await failureOf(server.client.resource(widgets, 'n').create(widget))
    assert.deepEqual([first.mayHaveActed, second.mayHaveActed], [true, true])
    assert.equal(server.requests.length, 2)
  })

  it('repeats an update only when it is bound to a version, and a patch only when it says what shall be', async () => {
    await using server = await startFaultServer((_request, response) => sendStatus(response, 502), {
      retry: { attempts: 2 },
    })
    const client = server.client.resource(widgets, 'n')
    const versioned = { ...widget, metadata: { ...widget.metadata, resourceVersion: '1' } }
    const sent = async (call: () => Promise<unknown>) => {
      const before = server.requests.length
      await failureOf(call())
      return server.requests.length - before
    }
    assert.equal(await sent(() => client.update(widget)), 1)
    assert.equal(await sent(() => client.update(versioned)), 2)
    assert.equal(await sent(() => client.patch('a', { type: 'merge', body: {} })), 2)
    assert.equal(await sent(() => client.patch('a', { type: 'apply', body: {}, fieldManager: 'm' })), 2)
    assert.equal(await sent(() => client.patch('a', { type: 'json', body: [] })), 1)
    assert.equal(await sent(() => client.patch('a', { type: 'strategic', body: {} })), 1)
    assert.equal(await sent(() => client.delete('a')), 1)
    assert.equal(await sent(() => client.delete('a', { preconditions: { uid: 'u' } })), 2)
  })

  it('takes "not found" for success when an earlier delete of the same object may have been carried out', async () => {
    await using server = await startFaultServer((request, response, number) => {
      if (number === 1) return void request.socket.resetAndDestroy()
      sendStatus(response, 404, { reason: 'NotFound' })
    })
    const client = server.client.resource(widgets, 'n')
    await client.delete('a', { preconditions: { uid: 'u' } })
    assert.equal((await failureOf(client.delete('a', { preconditions: { uid: 'u' } }))).code, 'NotFound')
  })

  it('reads again when a body with status 200 is cut in half', async () => {
    const text = JSON.stringify(widget)
    await using server = await startFaultServer((request, response, number) => {
      if (number === 3) return void response.end(text)
      if (number === 1) response.setHeader('content-length', text.length)
      else response.setHeader('connection', 'close')
      response.write(text.slice(0, text.length / 2), () => request.socket.end())
    })
    assert.deepEqual(await server.client.resource(widgets, 'n').get('a'), widget)
    assert.equal(server.requests.length, 3)
  })

  it('says that the body was cut when it always is', async () => {
    await using server = await startFaultServer(
      (request, response) => {
        response.setHeader('content-length', 100)
        response.write('{"kind":', () => request.socket.end())
      },
      { retry: { attempts: 2 } },
    )
    const error = await failureOf(server.client.resource(widgets, 'n').get('a'))
    assert.equal(error.code, 'BodyCut')
    assert.ok(error.retryable)
    assert.match(error.message, /get widgets\.example\.com "a" in namespace "n"/)
  })

  it('times out with a message when the server never answers', async () => {
    await using server = await startFaultServer(() => undefined, {
      requestTimeoutMs: 50,
      retry: { attempts: 1 },
    })
    const error = await failureOf(server.client.resource(widgets, 'n').get('a'))
    assert.equal(error.code, 'TimedOut')
    assert.ok(error.message.includes(server.url))
  })

  it('ends at once when its signal is aborted, while waiting for an answer or for the next attempt', async () => {
    const reason = new Error('enough')
    await using server = await startFaultServer(
      (request, response) => {
        if (request.url.endsWith('/hang')) return
        response.setHeader('retry-after', '30')
        sendStatus(response, 429)
      },
      {
        clock: {
          now: () => 0,
          sleep: (_ms, signal) =>
            new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
        },
      },
    )
    for (const name of ['hang', 'wait']) {
      const abort = new AbortController()
      const call = server.client.resource(widgets, 'n').get(name, { signal: abort.signal })
      while (!server.requests.some(request => request.endsWith(name)))
        await new Promise(resolve => setImmediate(resolve))
      abort.abort(reason)
      await assert.rejects(call, reason)
    }
  })

  it('names the server and the remedy when nothing listens there', async () => {
    const port = await freePort()
    await using client = await createKubeClient({
      config: fixedConfig(`https://127.0.0.1:${port}`),
      retry: { attempts: 2, baseMs: 1 },
    })
    const error = await failureOf(client.resource(widgets, 'n').create(widget))
    assert.equal(error.code, 'Unreachable')
    assert.equal(error.mayHaveActed, false)
    assert.match(
      error.message,
      new RegExp(
        `create widgets.example.com "a" in namespace "n" at https://127.0.0.1:${port}: connection refused`,
      ),
    )
    assert.match(error.hint ?? '', /API server runs/)
  })

  it('asks for new credentials after 401, once', async () => {
    let token = 'old'
    const config = {
      ...fixedConfig(''),
      credentials: async () => ({ headers: { authorization: `Bearer ${token}` } }),
      invalidate: () => {
        token = 'new'
      },
    }
    await using server = await startFaultServer((request, response) => {
      if (request.headers.authorization === 'Bearer new' && request.url.endsWith('/a')) {
        return void response.end(JSON.stringify(widget))
      }
      sendStatus(response, 401, { reason: 'Unauthorized', message: 'Unauthorized' })
    })
    await using client = await createKubeClient({ config: { ...config, server: server.url } })
    assert.deepEqual(await client.resource(widgets, 'n').get('a'), widget)
    const error = await failureOf(client.resource(widgets, 'n').get('b'))
    assert.ok(isUnauthorized(error))
    assert.match(error.hint ?? '', /log in again/)
    assert.equal(server.requests.length, 4)
  })

  it('creates through a server that has just started and refuses with 403 what it will accept', async () => {
    const message = 'widgets.example.com "a" is forbidden: not yet ready to handle request'
    await using server = await startFaultServer((_request, response, number) => {
      if (number === 3) return void response.end(JSON.stringify(widget))
      sendStatus(response, 403, { reason: 'Forbidden', message })
    })
    assert.deepEqual(await server.client.resource(widgets, 'n').create(widget), widget)
    assert.equal(server.requests.length, 3)
  })

  it('asks nobody for a role when a server does not become ready', async () => {
    const message = 'pods "a" is forbidden: not yet ready to handle request'
    await using server = await startFaultServer(
      (_request, response) => sendStatus(response, 403, { reason: 'Forbidden', message }),
      { retry: { attempts: 2 } },
    )
    const error = await failureOf(server.client.resource(widgets, 'n').create(widget))
    assert.deepEqual([error.retryable, error.mayHaveActed], [true, false])
    assert.match(error.hint ?? '', /has just started/)
    assert.equal(server.requests.length, 2)
  })

  it('never repeats what is forbidden for another reason', async () => {
    const message = 'widgets.example.com "not yet ready to handle request" is forbidden: exceeded quota: q'
    await using server = await startFaultServer((_request, response) =>
      sendStatus(response, 403, { reason: 'Forbidden', message }),
    )
    assert.equal((await failureOf(server.client.resource(widgets, 'n').create(widget))).retryable, false)
    assert.equal(server.requests.length, 1)
  })

  it('says which role is missing after 403', async () => {
    await using server = await startFaultServer((_request, response) =>
      sendStatus(response, 403, { reason: 'Forbidden', message: 'no' }),
    )
    const error = await failureOf(server.client.resource(widgets, 'n').list().toArray())
    assert.ok(isForbidden(error))
    assert.match(error.message, /cannot list widgets\.example\.com in namespace "n"/)
    assert.match(error.hint ?? '', /kubectl auth can-i list widgets\.example\.com --namespace n/)
  })

  it('says in a text how to get a right that is missing, once, and of nothing else that is forbidden', async () => {
    const said = {
      right: 'User "u" cannot list resource "widgets" in API group "example.com"',
      quota: 'exceeded quota: q',
    }
    await using server = await startFaultServer(({ url = '' }, response) =>
      sendStatus(response, 403, {
        reason: 'Forbidden',
        message: url.includes('/n/') ? said.right : said.quota,
      }),
    )
    const list = (namespace: string) => failureOf(server.client.resource(widgets, namespace).list().toArray())
    const lacking = await list('n')
    const remedy = /; ask for a role that allows "list" on "widgets.example.com"/g
    assert.equal(textOf(lacking).match(remedy)?.length, 1)
    const wrapped = new Error(`it failed: ${lacking.message}`, { cause: new Error('so', { cause: lacking }) })
    assert.equal(textOf(wrapped).match(remedy)?.length, 1)
    assert.equal(textOf(new Error(textOf(lacking), { cause: lacking })).match(remedy)?.length, 1)
    const raw = await failureOf(server.client.getRaw('/apis/example.com/v1/namespaces/n/widgets/a'))
    assert.match(textOf(raw), /allows "get" on "widgets.example.com"/)
    const full = await list('m')
    assert.equal(textOf(full), full.message)
  })

  it('survives an answer that is not from an API server', async () => {
    await using server = await startFaultServer(
      (_request, response) => void response.end('<html>Welcome to the proxy</html>'),
      { retry: { attempts: 1 } },
    )
    assert.equal((await failureOf(server.client.resource(widgets, 'n').get('a'))).code, 'BodyMalformed')
    assert.equal(
      (await failureOf(server.client.resource(widgets, 'n').list().toArray())).code,
      'BodyMalformed',
    )
  })

  it('fails what still runs when the client is closed', async () => {
    await using server = await startFaultServer(() => undefined)
    const call = server.client.resource(widgets, 'n').get('a')
    while (server.requests.length === 0) await new Promise(resolve => setImmediate(resolve))
    const [error] = await Promise.all([failureOf(call), server.client[Symbol.asyncDispose]()])
    assert.equal(error.code, 'ClientClosed')
  })

  it('refuses to address a whole collection by accident', async () => {
    await using server = await startFaultServer((_request, response) => void response.end('{}'))
    assert.equal((await failureOf(server.client.resource(widgets).get('a'))).code, 'NamespaceRequired')
    assert.equal((await failureOf(server.client.resource(widgets, 'n').delete(''))).code, 'NameRequired')
    assert.deepEqual(server.requests, [])
  })
})
