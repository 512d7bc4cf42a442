import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStorage } from '../../blob/memory.ts'
import { readMarkerState, serializeVeleroMarker, veleroMarkerId } from './velero-marker.ts'

const id = new Uint8Array(32).fill(7)

describe('the marker of Velero', () => {
  it('holds the unique id in base64 and nothing else', () => {
    assert.equal(Buffer.from(serializeVeleroMarker(Uint8Array.of(1, 2, 3))).toString(), '{"uniqueID":"AQID"}')
  })

  it('is absent, matching or foreign', async () => {
    await using storage = memoryStorage()
    assert.equal(await readMarkerState(storage, id), 'absent')
    await storage.put(veleroMarkerId, serializeVeleroMarker(id))
    assert.equal(await readMarkerState(storage, id), 'matching')
    assert.equal(await readMarkerState(storage, new Uint8Array(32)), 'foreign')
    await storage.put(veleroMarkerId, Buffer.from('null'))
    assert.equal(await readMarkerState(storage, id), 'foreign')
    await storage.put(veleroMarkerId, Buffer.from('{"uniqueID":'))
    assert.equal(await readMarkerState(storage, id), 'foreign')
  })
})
