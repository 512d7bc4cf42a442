import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { doctorFlags } from './doctor.ts'

describe('lateen doctor', () => {
  it('can leave out every sort of finding that there is', async () => {
    const { findingTypes } = await import('@lateen/server')
    assert.deepEqual([...doctorFlags.ignore.choices], [...findingTypes])
  })
})
