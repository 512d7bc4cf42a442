import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { KubeClient, KubeError, Logger } from '@lateen/kube'
import { startLoopbackApi } from '../../../../../tools/test/loopback-api.ts'
import { itemKey } from '../../item/item.ts'
import { resolveScope } from '../scope/resolve-scope.ts'
import { collectItems } from './collect-items.ts'

/** An API that a real server would hardly offer: as many resources as wanted, some of which fail. */
async function startLargeApi(
  resources: string[],
  list: (resource: string, response: ServerResponse) => void,
) {
  const offered = resources.map(resource => ({
    resource,
    responseKind: { kind: 'Thing' },
    scope: 'Cluster',
    singularResource: resource,
    verbs: ['get', 'list', 'create', 'delete'],
  }))
  const versions = [{ version: 'v1', freshness: 'Current', resources: offered }]
  const found = {
    kind: 'APIGroupDiscoveryList',
    items: [{ metadata: { name: 'large.example.com' }, versions }],
  }
  let most = 0
  let open = 0
  const server = await startLoopbackApi(({ url }, response) => {
    if (url === '/api') response.end(JSON.stringify({ ...found, items: [] }))
    else if (url === '/apis') response.end(JSON.stringify(found))
    else {
      most = Math.max(most, ++open)
      response.on('close', () => open--)
      list(/v1\/(\w+)/.exec(url)?.[1] ?? '', response)
    }
  })
  return { ...server, mostAtOnce: () => most }
}

const listOf = (...names: string[]) =>
  JSON.stringify({ metadata: { resourceVersion: '1' }, items: names.map(name => ({ metadata: { name } })) })

function errorsOf(): Logger & { errors: Record<string, unknown>[] } {
  const errors: Record<string, unknown>[] = []
  const log: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: fields => void errors.push({ ...fields }),
    child: () => log,
  }
  return { ...log, errors }
}

describe('Collecting', () => {
  let scratch: string
  before(async () => {
    scratch = await mkdtemp(path.join(tmpdir(), 'lateen-collect-'))
  })
  after(() => rm(scratch, { recursive: true }))

  async function collect(client: KubeClient, log: Logger = errorsOf()) {
    const discovery = await client.discovery.preferred()
    const scope = resolveScope({ backup: { spec: {} }, discovery, namespaces: [] })
    return collectItems({ client, scope, scratch, log }, new AbortController().signal)
  }

  it('goes through an API of 5,000 resources, a few lists at a time, in order', async () => {
    const resources = Array.from({ length: 5000 }, (_, number) => `things${number}`)
    const answer = (resource: string, response: ServerResponse) =>
      void response.end(listOf('a', `of-${resource}`))
    await using api = await startLargeApi(resources, answer)
    await using items = await collect(api.client)
    assert.equal(items.count, 10_000)
    const keys = [...items].map(itemKey)
    assert.deepEqual(
      keys,
      resources.flatMap(name => [`${name}.large.example.com//a`, `${name}.large.example.com//of-${name}`]),
    )
    assert.ok(api.mostAtOnce() <= 6, `${api.mostAtOnce()} lists at once`)
  })

  it('keeps what a list brought before it failed, names the list, and goes on with the others', async () => {
    const whole = listOf('a', 'b', 'c')
    await using api = await startLargeApi(['first', 'cut', 'refused', 'last'], (resource, response) => {
      if (resource === 'refused') response.writeHead(500).end('{"kind":"Status","message":"out of order"}')
      else if (resource === 'cut') response.end(whole.slice(0, -20))
      else response.end(whole)
    })
    const log = errorsOf()
    await using items = await collect(api.client, log)
    const names = Map.groupBy(items, ({ groupResource }) => groupResource as string)
    assert.deepEqual(
      [...names.keys()],
      ['first', 'cut', 'last'].map(name => `${name}.large.example.com`),
    )
    const failed = log.errors.map(({ resource, namespace, error }) => [
      resource,
      namespace,
      (error as KubeError).code,
    ])
    assert.deepEqual(
      failed.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      [
        ['cut.large.example.com', '', 'BodyCut'],
        ['refused.large.example.com', '', 'InternalError'],
      ],
    )
  })

  it('ends with one clear error when scratch is full, and leaves nothing there', async () => {
    const answer = (_resource: string, response: ServerResponse) =>
      void response.end(listOf(...Array.from({ length: 20_000 }, (_, number) => `a-long-name-${number}`)))
    await using api = await startLargeApi(['a', 'b', 'c'], answer)
    await mkdir(path.join(scratch, 'items'))
    for (let lane = 0; lane < 6; lane++)
      await symlink('/dev/full', path.join(scratch, 'items', `${lane}.json`))
    await assert.rejects(collect(api.client), { name: 'ScratchError', code: 'SCRATCH_FULL' })
    assert.deepEqual(await readdir(scratch), [])
  })
})
