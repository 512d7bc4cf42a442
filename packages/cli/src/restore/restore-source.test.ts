import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { validLabelValue } from '@lateen/api'
import { scheduleSelector } from './restore-source.ts'

describe('scheduleSelector', () => {
  it('finds the backups of a schedule whose name is too long for a label', () => {
    const name = 'nightly-'.repeat(9)
    assert.equal(scheduleSelector('nightly'), 'velero.io/schedule-name=nightly')
    assert.equal(scheduleSelector(name), `velero.io/schedule-name=${validLabelValue(name)}`)
    assert.ok(scheduleSelector(name).split('=')[1]?.length === 63)
  })
})
