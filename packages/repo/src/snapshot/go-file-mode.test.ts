import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { goModeFromUnix, unixModeFromGo } from './go-file-mode.ts'

describe('a stored mode', () => {
  it('has setuid, setgid and sticky where Go has them', () => {
    assert.equal(goModeFromUnix(0o104755).toString(8), '40000755')
    assert.equal(goModeFromUnix(0o106755).toString(8), '60000755')
    assert.equal(goModeFromUnix(0o041777).toString(8), '4000777')
    assert.equal(goModeFromUnix(0o100644).toString(8), '644')
  })

  it('gives the twelve mode bits back', () => {
    for (let mode = 0; mode < 0o10000; mode++) assert.equal(unixModeFromGo(goModeFromUnix(mode)), mode)
  })
})
