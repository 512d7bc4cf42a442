import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { ansi, columnsOf, paintFor, plain } from './paint.ts'

const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 72 })
const wanted = { env: {}, colorized: true }

describe('paintFor', () => {
  it('has colours on a terminal only', () => {
    assert.equal(paintFor(terminal, wanted), ansi)
    assert.equal(paintFor(new PassThrough(), wanted), plain)
  })

  it('has none where the user, NO_COLOR or the terminal says so', () => {
    assert.equal(paintFor(terminal, { ...wanted, colorized: false }), plain)
    assert.equal(paintFor(terminal, { ...wanted, env: { NO_COLOR: '1' } }), plain)
    assert.equal(paintFor(terminal, { ...wanted, env: { TERM: 'dumb' } }), plain)
    assert.equal(paintFor(terminal, { ...wanted, env: { NO_COLOR: '' } }), ansi)
  })
})

describe('columnsOf', () => {
  it('is known of terminals that tell', () => {
    assert.equal(columnsOf(terminal), 72)
    assert.equal(columnsOf(new PassThrough()), undefined)
    assert.equal(columnsOf(Object.assign(new PassThrough(), { columns: 0 })), undefined)
  })
})
