import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventsBetween } from './object-event.ts'

function object(uid: string, resourceVersion: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', uid, resourceVersion } }
}

describe('eventsBetween', () => {
  it('reports an unknown object as added', () => {
    const seen = object('u1', '5')
    assert.deepEqual(eventsBetween(undefined, seen), [{ type: 'added', object: seen }])
  })

  it('says nothing about a version that is known', () => {
    assert.deepEqual(eventsBetween(object('u1', '5'), object('u1', '5')), [])
  })

  it('reports another version with both states', () => {
    const [known, seen] = [object('u1', '5'), object('u1', '6')]
    assert.deepEqual(eventsBetween(known, seen), [{ type: 'updated', object: seen, previous: known }])
  })

  it('reports an object that was replaced under its name as deleted and added', () => {
    const [known, seen] = [object('u1', '5'), object('u2', '9')]
    assert.deepEqual(eventsBetween(known, seen), [
      { type: 'deleted', object: known },
      { type: 'added', object: seen },
    ])
  })
})
