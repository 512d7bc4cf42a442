import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { type KubeClient, silentLogger, systemClock } from '@lateen/kube'
import { startLoopbackApi } from '../../../../../tools/test/loopback-api.ts'
import { PodWatch } from './pod-watch.ts'

const signal = AbortSignal.timeout(60_000)

const pod = (name: string, resourceVersion: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', uid: `uid-of-${name}`, resourceVersion },
})

interface Scene {
  client: KubeClient
  /** Sends an event to who watches. */
  tell(type: string, object: object): Promise<void>
}

/** An API server that holds one watch, and knows one pod. */
async function givenServer(t: TestContext, known: ReturnType<typeof pod>): Promise<Scene> {
  const watching = Promise.withResolvers<ServerResponse>()
  const server = await startLoopbackApi(({ url }, response) => {
    if (!url.includes('watch=')) return void response.end(JSON.stringify(known))
    response.flushHeaders()
    watching.resolve(response)
  })
  t.after(() => server[Symbol.asyncDispose]())
  const tell = async (type: string, object: object) =>
    void (await watching.promise).write(`${JSON.stringify({ type, object })}\n`)
  return { client: server.client, tell }
}

describe('the watch of pods', () => {
  it('tells of what became of a pod before anybody waited for it', async t => {
    const changed = pod('second', '12')
    const { client, tell } = await givenServer(t, changed)
    await using watch = new PodWatch({ client, clock: systemClock, log: silentLogger })
    const versionOf = async (states: ReturnType<PodWatch['states']>) =>
      (await states.next()).value?.metadata.resourceVersion
    const first = watch.states(pod('first', '10'), signal)
    assert.equal(await versionOf(first), '10')
    await tell('MODIFIED', changed)
    await tell('MODIFIED', pod('first', '13'))
    assert.equal(await versionOf(first), '13')

    const second = watch.states(pod('second', '11'), signal)
    const seen = [await versionOf(second)]
    if (seen[0] !== '12') seen.push(await versionOf(second))
    assert.equal(seen.at(-1), '12')
  })
})
