import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServerStatusRequestKind } from '@lateen/api'
import { systemClock } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import { parseDuration } from '../parse/duration.ts'
import type { CommandCall } from '../tree/command.ts'
import { serverStatus } from './server-status.ts'

/** Asks where the API server takes its time to create the request and nobody answers that. Returns the failure and what is left then. */
async function asked(timeout: string, whileCreating = (_user: AbortController) => {}) {
  const user = new AbortController()
  let created: Promise<void> = Promise.resolve()
  await using server = await startObjectServer({
    kinds: [ServerStatusRequestKind],
    async before(request) {
      if (!request.startsWith('POST ')) return
      whileCreating(user)
      created = sleep(500)
      await created
    },
  })
  const call = {
    settings: async () => ({ namespace: 'velero' }),
    connect: async () => server.client,
    surroundings: { signal: user.signal, clock: systemClock },
  } as unknown as CommandCall
  const patience = parseDuration(timeout) ?? assert.fail(timeout)
  const failure = await serverStatus(call, patience).then(
    () => assert.fail('somebody answered'),
    (error: Error) => error,
  )
  await created
  await sleep(0)
  return { failure, requests: server.requests, left: [...server.objects.keys()] }
}

describe('a question to a server that does not answer', () => {
  it('is withdrawn when the API server took it only after the time was over', async () => {
    const { failure, requests, left } = await asked('100ms')
    assert.match(failure.message, /^the API server http.* did not answer within 100ms/)
    assert.equal(requests.filter(each => each.startsWith('POST ')).length, 1)
    assert.deepEqual(left, [])
  })

  it('is withdrawn when the user gave up while it was put', async () => {
    const { failure, left } = await asked('10s', user => user.abort(new Error('stopped by SIGINT')))
    assert.equal(failure.message, 'stopped by SIGINT')
    assert.deepEqual(left, [])
  })
})
