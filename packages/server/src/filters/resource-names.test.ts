import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { resourceFilter, resourceResolver } from './resource-names.ts'
import { someResources } from './testing/some-resources.ts'

const resolve = resourceResolver(someResources)

describe('resourceResolver', () => {
  const meanings: Record<string, string | undefined> = {
    pods: 'pods',
    pod: 'pods',
    Pod: 'pods',
    PODS: 'pods',
    po: 'pods',
    PO: undefined,
    deploy: 'deployments.apps',
    'deploy.apps': 'deployments.apps',
    'deployments.app': 'deployments.apps',
    'Deployment.apps': 'deployments.apps',
    'deployments.other': undefined,
    events: 'events',
    'events.events.k8s.io': 'events.events.k8s.io',
    'event.events': 'events.events.k8s.io',
    'storageclass.storage': 'storageclasses.storage.k8s.io',
    widgets: 'widgets.example.com',
    vs: 'volumesnapshots.snapshot.storage.k8s.io',
    bindings: undefined,
    'pods.metrics.k8s.io': undefined,
    unknown: undefined,
    '*': undefined,
    '': undefined,
  }
  for (const [name, meaning] of Object.entries(meanings)) {
    it(`takes ${JSON.stringify(name)} for ${meaning ?? 'nothing'}`, () => {
      assert.equal(resolve(name)?.groupResource, meaning)
    })
  }

  it('knows which types have a namespace', () => {
    assert.equal(resolve('pods')?.namespaced, true)
    assert.equal(resolve('pv')?.namespaced, false)
  })
})

describe('resourceFilter', () => {
  it('resolves names and keeps what it does not know as a pattern', () => {
    const filter = resourceFilter(resolve, {
      includes: ['po', '*.apps', 'gone.example.com'],
      excludes: ['*', 'cm'],
    })
    assert.deepEqual(filter.included, ['*.apps', 'gone.example.com', 'pods'])
    assert.deepEqual(filter.excluded, ['configmaps'])
    assert.equal(filter.includes('deployments.apps'), true)
    assert.equal(filter.includes('secrets'), false)
  })
})
