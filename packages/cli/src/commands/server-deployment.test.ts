import assert from 'node:assert/strict'
import { json } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { isConflict, type KubeClient } from '@lateen/kube'
import { type LoopbackApi, startLoopbackApi } from '../../../../tools/test/loopback-api.ts'
import { CliError } from '../cli-error.ts'
import type { CommandCall } from '../tree/command.ts'
import type { pluginAddFlags } from '../tree/plugin.ts'
import { run as add } from './plugin-add.ts'
import { run as remove } from './plugin-remove.ts'
import type { ServerDeployment, ServerPod } from './server-deployment.ts'

/** An API server with one Deployment. Before each patch, counted from 1, somebody else may write a pod, which may be the same. */
async function startServer(meanwhile: (pod: ServerPod, patch: number) => ServerPod | undefined) {
  let version = 1
  let patches = 0
  let pod: ServerPod = { containers: [{ name: 'velero' }], initContainers: [{ name: 'a', image: 'a:1' }] }
  const deployment = (): ServerDeployment => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'velero', namespace: 'n', resourceVersion: `${version}` },
    spec: { template: { spec: pod } },
  })
  const server = await startLoopbackApi(async (request, response) => {
    if (request.method === 'GET') {
      response.end(JSON.stringify({ metadata: { resourceVersion: `${version}` }, items: [deployment()] }))
      return
    }
    const body = (await json(request)) as ServerDeployment
    const written = meanwhile(pod, ++patches)
    if (written) {
      pod = written
      version++
    }
    if (body.metadata.resourceVersion !== `${version}`) {
      response.writeHead(409).end(JSON.stringify({ kind: 'Status', reason: 'Conflict' }))
      return
    }
    pod = { ...pod, ...body.spec.template.spec }
    version++
    response.end(JSON.stringify(deployment()))
  })
  return {
    server,
    images: () => pod.initContainers?.map(({ image }) => image),
    patches: () => patches,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

function callOf(server: LoopbackApi, image: string): CommandCall<typeof pluginAddFlags> {
  const connected: KubeClient = { ...server.client, async [Symbol.asyncDispose]() {} }
  return {
    args: [image],
    flags: { confirm: true, 'image-pull-policy': 'IfNotPresent' },
    given: new Set(),
    surroundings: { signal: new AbortController().signal },
    settings: async () => ({ namespace: 'n' }),
    connect: async () => connected,
  } as unknown as CommandCall<typeof pluginAddFlags>
}

async function linesOf(result: ReturnType<typeof add> | ReturnType<typeof remove>): Promise<string[]> {
  const answer = await result
  assert.ok(answer.show === 'lines')
  return Array.fromAsync(answer.lines as AsyncIterable<string>)
}

describe('plugin add and plugin remove', () => {
  it('do not fail when the controller of the Deployment has written between reading and writing', async () => {
    await using place = await startServer((pod, patch) => (patch % 3 === 0 ? undefined : pod))
    assert.deepEqual(await linesOf(add(callOf(place.server, 'b:2'))), [
      'Plugin b:2 added to Deployment velero. The server restarts.',
    ])
    assert.deepEqual(place.images(), ['a:1', 'b:2'])
    assert.deepEqual(await linesOf(remove(callOf(place.server, 'a:1'))), [
      'Plugin a:1 removed from Deployment velero. The server restarts.',
    ])
    assert.deepEqual(place.images(), ['b:2'])
    assert.equal(place.patches(), 6)
  })

  it('keep what somebody else has changed in between', async () => {
    const other = { name: 'c', image: 'c:3' }
    await using place = await startServer((pod, patch) =>
      patch === 1 ? { ...pod, initContainers: [...(pod.initContainers ?? []), other] } : undefined,
    )
    await linesOf(add(callOf(place.server, 'b:2')))
    assert.deepEqual(place.images(), ['a:1', 'c:3', 'b:2'])
  })

  it('decide anew: what somebody else has done in between is not done again', async () => {
    const twin = { name: 'b', image: 'b:2' }
    await using place = await startServer((pod, patch) =>
      patch === 1 ? { ...pod, initContainers: [twin] } : undefined,
    )
    const isExists = (error: unknown) => error instanceof CliError && error.code === 'EXISTS'
    await assert.rejects(linesOf(add(callOf(place.server, 'b:2'))), isExists)
    assert.deepEqual(place.images(), ['b:2'])
  })

  it('give up when somebody writes every time', async () => {
    await using place = await startServer(pod => pod)
    await assert.rejects(linesOf(remove(callOf(place.server, 'a:1'))), isConflict)
    assert.equal(place.patches(), 10)
    assert.deepEqual(place.images(), ['a:1'])
  })
})
