import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { blobFate, sessionOf } from './blob-fate.ts'
import { safetyFull } from './safety.ts'

const hour = 3_600_000
const start = 1000 * hour

describe('the fate of a pack', () => {
  const fate = (hoursOld: number, context: { referenced?: boolean; session?: number } = {}) =>
    blobFate(
      { timestamp: start - hoursOld * hour },
      {
        referenced: context.referenced ?? false,
        sessionCheckpoint: context.session === undefined ? undefined : start - context.session * hour,
        maintenanceStart: start,
        safety: safetyFull,
      },
    )

  it('is to go when nothing points to it for a day', () => {
    assert.equal(fate(24), 'delete')
    assert.equal(fate(23.9), 'too-recent')
    assert.equal(fate(1000, { referenced: true }), 'referenced')
    assert.equal(fate(-1), 'written-during-run')
  })

  it('is to stay for four days when its session never ended', () => {
    assert.equal(fate(50, { session: 95 }), 'session-active')
    assert.equal(fate(97, { session: 97 }), 'delete')
  })

  it('is tied to the session in its name', () => {
    assert.equal(sessionOf('p0123-sabcdef0147'), 'sabcdef0147')
    assert.equal(sessionOf('s0123-sabcdef0147'), 'sabcdef0147')
    assert.equal(sessionOf('xn0_0123-sabc-c1'), 'sabc')
    assert.equal(sessionOf('xn0_0123--c1'), undefined)
    assert.equal(sessionOf('p0123'), undefined)
  })
})
