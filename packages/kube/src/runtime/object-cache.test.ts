import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { KubeObject } from '../object.ts'
import { ObjectCache } from './object-cache.ts'
import { keyOf } from './object-key.ts'

const teamsOf = (object: KubeObject) => object.metadata.labels?.teams?.split('_') ?? []

function object(name: string, teams: readonly string[]): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'n', name, labels: { teams: teams.join('_') } },
  }
}

const names = fc.constantFrom('a', 'b', 'c', 'd')
const teams = fc.uniqueArray(fc.constantFrom('red', 'green', 'blue'), { minLength: 1 })
const puts = fc.record({ name: names, teams })
const changes = fc.array(fc.oneof(puts, fc.record({ name: names })))

describe('ObjectCache', () => {
  it('finds by index exactly what a search of all objects finds, after any changes', () => {
    fc.assert(
      fc.property(changes, steps => {
        const cache = new ObjectCache<KubeObject>()
        cache.addIndex('team', teamsOf)
        for (const step of steps) {
          if ('teams' in step) cache.put(object(step.name, step.teams))
          else cache.delete(`n/${step.name}`)
        }
        for (const team of ['red', 'green', 'blue']) {
          const searched = [...cache.values()].filter(each => teamsOf(each).includes(team))
          assert.deepEqual(new Set(cache.byIndex('team', team)), new Set(searched))
        }
      }),
    )
  })

  it('indexes objects that were there before the index', () => {
    const cache = new ObjectCache<KubeObject>()
    cache.put(object('a', ['red']))
    cache.addIndex('team', teamsOf)
    assert.deepEqual(cache.byIndex('team', 'red').map(keyOf), ['n/a'])
  })

  it('refuses an index that nobody defined', () => {
    assert.throws(() => new ObjectCache<KubeObject>().byIndex('team', 'red'), /No index is named team/)
  })
})
