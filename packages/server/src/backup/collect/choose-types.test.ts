import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DiscoveredResource } from '@lateen/kube'
import { chooseTypes } from './choose-types.ts'

const allVerbs = ['get', 'list', 'create', 'delete', 'watch']

/** `deployments.v1.apps`, `pods.v1`. */
function resource(name: string, verbs = allVerbs): DiscoveredResource {
  const [plural = '', version = '', ...group] = name.split('.')
  return {
    group: group.join('.'),
    version,
    kind: plural,
    plural,
    singular: plural,
    namespaced: true,
    verbs,
    shortNames: [],
    categories: [],
    subresources: [],
  }
}

interface Given {
  allVersions?: boolean
  without?: string[]
}

function chosen(names: string[], { allVersions = false, without = [] }: Given = {}): string[] {
  const scope = {
    collects: ({ groupResource }: { groupResource: string }) => !without.includes(groupResource),
  }
  const types = chooseTypes({ resources: names.map(name => resource(name)), scope, allVersions })
  return types.map(
    ({ type, preferred }) => `${type.plural}.${type.version}.${type.group}${preferred ? '' : ' (other)'}`,
  )
}

describe('The types of a backup', () => {
  it('come as the server lists them, but pods, claims and volumes first and extensions last', () => {
    const names = [
      'configmaps.v1',
      'persistentvolumes.v1',
      'persistentvolumeclaims.v1',
      'pods.v1',
      'secrets.v1',
      'ingresses.v1beta1.extensions',
      'jobs.v1.batch',
      'pods.v1.metrics.example.com',
    ]
    assert.deepEqual(chosen(names), [
      'pods.v1.',
      'persistentvolumeclaims.v1.',
      'persistentvolumes.v1.',
      'configmaps.v1.',
      'secrets.v1.',
      'jobs.v1.batch',
      'pods.v1.metrics.example.com',
      'ingresses.v1beta1.extensions',
    ])
  })

  it('are taken once, in the version that the server lists first', () => {
    const names = ['jobs.v1.batch', 'cronjobs.v1.batch', 'jobs.v1beta1.batch', 'queues.v1beta1.batch']
    assert.deepEqual(chosen(names), ['jobs.v1.batch', 'cronjobs.v1.batch', 'queues.v1beta1.batch'])
  })

  it('are taken in every version where all are asked for', () => {
    assert.deepEqual(chosen(['scalers.v2.autoscaling', 'scalers.v1.autoscaling'], { allVersions: true }), [
      'scalers.v2.autoscaling',
      'scalers.v1.autoscaling (other)',
    ])
  })

  it('that two groups serve are taken from the first group that is collected', () => {
    const names = [
      'events.v1',
      'deployments.v1.apps',
      'events.v1.events.k8s.io',
      'deployments.v1beta1.extensions',
      'deployments.v1.example.com',
    ]
    assert.deepEqual(chosen(names), ['events.v1.', 'deployments.v1.apps', 'deployments.v1.example.com'])
    assert.deepEqual(chosen(names, { without: ['events', 'deployments.apps'] }), [
      'events.v1.events.k8s.io',
      'deployments.v1.example.com',
      'deployments.v1beta1.extensions',
    ])
  })

  it('can be listed, read, created and deleted', () => {
    for (const missing of ['get', 'list', 'create', 'delete']) {
      const resources = [
        resource(
          'pods.v1',
          allVerbs.filter(verb => verb !== missing),
        ),
      ]
      assert.deepEqual(
        chooseTypes({ resources, scope: { collects: () => true }, allVersions: false }),
        [],
        missing,
      )
    }
  })
})
