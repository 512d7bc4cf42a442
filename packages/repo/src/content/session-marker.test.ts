import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newSessionId, parseSessionMarker, serializeSessionMarker } from './session-marker.ts'

describe('a session', () => {
  it('has an id with the count of 30-day months since 2000 at its end', () => {
    const id = newSessionId(Date.UTC(2026, 10, 15), length => new Uint8Array(length).fill(0xab))
    assert.equal(id, 'sabababababababab147')
  })

  it('has a marker that reads as it was written', () => {
    const marker = {
      id: 's0000000000000000147',
      startTime: Date.UTC(2026, 10, 15, 11, 45, 56, 747),
      checkpointTime: Date.UTC(2026, 10, 15, 11, 45, 57),
      username: 'default',
      hostname: 'a<b',
    }
    const text = Buffer.from(serializeSessionMarker(marker)).toString()
    assert.equal(
      text,
      '{"id":"s0000000000000000147","startTime":"2026-11-15T11:45:56.747Z",' +
        '"checkpointTime":"2026-11-15T11:45:57Z","username":"default","hostname":"a\\u003cb"}',
    )
    assert.deepEqual(parseSessionMarker(Buffer.from(text)), marker)
  })
})
