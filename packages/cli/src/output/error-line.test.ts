import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CliError } from '../cli-error.ts'
import { errorLine } from './error-line.ts'

describe('errorLine', () => {
  it('is the message with its hint', () => {
    const error = new CliError('NOT_FOUND', 'there is no x', { hint: 'make one' })
    assert.equal(errorLine(error), 'An error occurred: there is no x (make one)')
  })

  it('does not repeat a hint that is part of the message', () => {
    const error = new CliError('NOT_FOUND', 'there is no x. Make one', { hint: 'Make one' })
    assert.equal(errorLine(error), 'An error occurred: there is no x. Make one')
  })

  it('is one line, whatever the message', () => {
    assert.equal(errorLine(new Error('one\n  two\r\nthree\n')), 'An error occurred: one two three')
    assert.equal(errorLine(new TypeError()), 'An error occurred: TypeError')
    assert.equal(errorLine('text'), 'An error occurred: text')
  })
})
