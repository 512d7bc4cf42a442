import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toldLine } from './mover-log.ts'

describe('toldLine', () => {
  it('leaves out where in the program something happened', () => {
    assert.equal(toldLine('    at open (file:///app/lateen.js:12:3)'), '')
    const err = { type: 'Error', message: 'the disk is gone', stack: 'Error: the disk is gone\n    at open' }
    const line = JSON.stringify({ level: 'error', msg: 'a volume cannot be read', err })
    assert.equal(toldLine(line), 'error a volume cannot be read the disk is gone')
  })

  it('keeps what is no event of a log', () => {
    assert.equal(toldLine(' {"half": '), '{"half":')
    assert.equal(toldLine('{"half": '), '{"half":')
    assert.equal(toldLine('2026-01-01 INFO  backed up path=/x'), '2026-01-01 INFO  backed up path=/x')
  })
})
