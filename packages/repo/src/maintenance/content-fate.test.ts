import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseContentId } from '../index-format/content-id.ts'
import { contentFate } from './content-fate.ts'
import { safetyFull } from './safety.ts'

const hour = 3_600_000
const start = 1000 * hour

describe('the fate of a content', () => {
  const fate = (name: string, hoursOld: number, { deleted = false, used = false } = {}) =>
    contentFate(
      { contentId: parseContentId(name), timestamp: (start - hoursOld * hour) / 1000, deleted, used },
      start,
      safetyFull,
    )

  it('is to stay when a snapshot needs it, and to come back when it was marked deleted', () => {
    assert.equal(fate('aa', 100, { used: true }), 'in-use')
    assert.equal(fate('kaa', 1, { used: true, deleted: true }), 'undelete')
  })

  it('is to be marked deleted a day after it was written, not before', () => {
    assert.equal(fate('aa', 24), 'mark-deleted')
    assert.equal(fate('aa', 23.9), 'too-recent')
    assert.equal(fate('xaa', 30, { deleted: true }), 'already-deleted')
  })

  it('is to stay for manifests, which no tree leads to', () => {
    assert.equal(fate('maa', 1000), 'system')
    assert.equal(fate('maa', 1000, { deleted: true }), 'system')
  })
})
