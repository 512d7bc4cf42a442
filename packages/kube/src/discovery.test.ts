import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readAggregated } from './discovery/aggregated.ts'
import { type DiscoveredResource, findByKind, findByName, preferredOf } from './discovery.ts'
import type { KubeError } from './errors.ts'
import { sendStatus, startFaultServer } from './testing/fault-server.ts'

function resource(name: string, more: Partial<DiscoveredResource> = {}): DiscoveredResource {
  const [plural = '', version = '', ...groupParts] = name.split('.')
  const group = groupParts.join('.')
  const singular = plural.replace(/s$/, '')
  const kind = singular.charAt(0).toUpperCase() + singular.slice(1)
  const names = { plural, singular, kind, shortNames: [], categories: [] }
  return { group, version, ...names, namespaced: true, verbs: ['list'], subresources: [], ...more }
}

const known = [
  resource('events.v1', { shortNames: ['ev'] }),
  resource('pods.v1', { shortNames: ['po'] }),
  resource('deployments.v1.apps', { shortNames: ['deploy'] }),
  resource('events.v1.events.k8s.io'),
  resource('backups.v1.velero.io'),
  resource('datauploads.v2alpha1.velero.io', { kind: 'DataUpload' }),
  resource('backups.v2alpha1.velero.io'),
  resource('po.v1.example.com', { singular: 'poo', kind: 'Poo' }),
]

const nameOf = (found: DiscoveredResource | undefined) =>
  found && `${found.plural}.${found.version}.${found.group}`

describe('Finding a resource', () => {
  it('understands the names that kubectl does', () => {
    const cases = {
      pods: 'pods.v1.',
      Pod: 'pods.v1.',
      ev: 'events.v1.',
      events: 'events.v1.',
      'events.events.k8s.io': 'events.v1.events.k8s.io',
      'backups.velero.io': 'backups.v1.velero.io',
      'backups.v2alpha1.velero.io': 'backups.v2alpha1.velero.io',
      'deploy.apps': 'deployments.v1.apps',
      DataUpload: 'datauploads.v2alpha1.velero.io',
    }
    for (const [name, expected] of Object.entries(cases))
      assert.equal(nameOf(findByName(known, name)), expected, name)
    assert.equal(findByName(known, 'nothing'), undefined)
    assert.equal(findByName(known, 'pods.apps'), undefined)
  })

  it('prefers a full name in any group to a short name', () => {
    assert.equal(nameOf(findByName(known, 'po')), 'po.v1.example.com')
  })

  it('by kind takes the first group and the preferred version unless told otherwise', () => {
    assert.equal(nameOf(findByKind(known, { kind: 'Event' })), 'events.v1.')
    assert.equal(
      nameOf(findByKind(known, { kind: 'Event', group: 'events.k8s.io' })),
      'events.v1.events.k8s.io',
    )
    assert.equal(
      nameOf(findByKind(known, { kind: 'Backup', version: 'v2alpha1' })),
      'backups.v2alpha1.velero.io',
    )
  })

  it('takes each resource at the first version that has it', () => {
    const velero = preferredOf(known).filter(({ group }) => group === 'velero.io')
    assert.deepEqual(velero.map(nameOf), ['backups.v1.velero.io', 'datauploads.v2alpha1.velero.io'])
  })
})

const podList = {
  resource: 'pods',
  responseKind: { kind: 'Pod' },
  scope: 'Namespaced' as const,
  singularResource: 'pod',
}

describe('Discovery', () => {
  it('reports an aggregated group whose server is down and keeps the rest', () => {
    const { resources, failures } = readAggregated([
      {
        items: [
          {
            versions: [
              { version: 'v1', resources: [{ ...podList, subresources: [{ subresource: 'log' }] }] },
            ],
          },
        ],
      },
      { items: [{ metadata: { name: 'down.io' }, versions: [{ version: 'v1', freshness: 'Stale' }] }] },
    ])
    assert.deepEqual(resources.map(nameOf), ['pods.v1.'])
    assert.deepEqual(resources[0]?.subresources, ['log'])
    assert.deepEqual(
      failures.map(({ group }) => group),
      ['down.io'],
    )
  })

  it('names /api when both roots are refused, however late that answer comes', async () => {
    await using server = await startFaultServer(({ url }, response) => {
      setTimeout(() => sendStatus(response, 403), url === '/api' ? 100 : 0)
    })
    await assert.rejects(server.client.discovery.preferred(), (error: KubeError) =>
      /"get" on "\/api"/.test(error.hint ?? ''),
    )
  })

  it('answers those who still ask when the one who asked first gives up', async () => {
    const held = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    await using server = await startFaultServer(async (_, response) => {
      asked.resolve()
      await held.promise
      response.end(JSON.stringify({ kind: 'APIGroupDiscoveryList', items: [] }))
    })
    const { discovery } = server.client
    const leaving = new AbortController()
    const first = discovery.preferred({ signal: leaving.signal })
    const second = discovery.preferred()
    const refreshed = discovery.refresh({ signal: leaving.signal })
    await asked.promise
    leaving.abort()
    held.resolve()
    await assert.rejects(first, { name: 'AbortError' })
    await assert.rejects(refreshed, { name: 'AbortError' })
    assert.deepEqual(await second, [])
    assert.deepEqual(await discovery.preferred(), [])
  })

  it('reads a server without aggregated documents group by group, and one failing group is not fatal', async () => {
    const answers: Record<string, object> = {
      '/api': { kind: 'APIVersions', versions: ['v1'] },
      '/apis': {
        kind: 'APIGroupList',
        groups: [
          {
            name: 'apps',
            versions: [{ version: 'v1beta1' }, { version: 'v1' }],
            preferredVersion: { version: 'v1' },
          },
          { name: 'down.io', versions: [{ version: 'v1' }] },
        ],
      },
      '/api/v1': {
        resources: [
          { name: 'pods', namespaced: true, kind: 'Pod', verbs: ['get'], shortNames: ['po'] },
          { name: 'pods/log', namespaced: true, kind: 'Pod' },
        ],
      },
      '/apis/apps/v1': { resources: [{ name: 'deployments', namespaced: true, kind: 'Deployment' }] },
      '/apis/apps/v1beta1': { resources: [{ name: 'deployments', namespaced: true, kind: 'Deployment' }] },
    }
    await using server = await startFaultServer(
      ({ url }, response) => {
        const answer = answers[url]
        if (answer === undefined) sendStatus(response, 503)
        else response.end(JSON.stringify(answer))
      },
      { retry: { attempts: 2 } },
    )
    const { discovery } = server.client
    assert.deepEqual((await discovery.preferred()).map(nameOf), ['pods.v1.', 'deployments.v1.apps'])
    assert.deepEqual((await discovery.find('po'))?.subresources, ['log'])
    assert.deepEqual(
      (await discovery.failures()).map(({ group }) => group),
      ['down.io'],
    )
    await assert.rejects(discovery.require('things'), (error: KubeError) =>
      /down\.io\/v1/.test(error.hint ?? ''),
    )
    const before = server.requests.length
    await discovery.all()
    assert.equal(server.requests.length, before, 'it is read once')
    await discovery.refresh()
    assert.ok(server.requests.length > before)
  })
})
