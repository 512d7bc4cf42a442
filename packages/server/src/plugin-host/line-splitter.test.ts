import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LineSplitter, type SplitLine } from './line-splitter.ts'

function linesOf(parts: readonly string[], most?: number): SplitLine[] {
  const lines: SplitLine[] = []
  const splitter = new LineSplitter(line => lines.push(line), most)
  for (const part of parts) splitter.push(Buffer.from(part, 'latin1'))
  splitter.end()
  return lines
}

const whole = (...texts: string[]) => texts.map(text => ({ text, cut: false }))

describe('Cutting output into lines', () => {
  it('does not depend on the pieces in which it comes', () => {
    const text = 'one\ntwo\r\n\nünï\nlast'
    const bytes = Buffer.from(text).toString('latin1')
    const expected = whole('one', 'two', '', 'ünï', 'last')
    assert.deepEqual(linesOf([bytes]), expected)
    assert.deepEqual(linesOf([...bytes]), expected)
    assert.deepEqual(linesOf([bytes.slice(0, 6), bytes.slice(6)]), expected)
  })

  it('has no line where nothing follows the last line break', () => {
    assert.deepEqual(linesOf(['a\n']), whole('a'))
    assert.deepEqual(linesOf([]), [])
  })

  it('keeps the beginning of a line that is too long, and the lines after it', () => {
    const expected = [{ text: 'abcd', cut: true }, ...whole('next', 'x')]
    assert.deepEqual(linesOf(['abcdefgh\nnext\nx'], 4), expected)
    assert.deepEqual(linesOf([...'abcdefgh\nnext\nx'], 4), expected)
  })

  it('tells of a line without end as soon as it is too long, once', () => {
    const lines: SplitLine[] = []
    const splitter = new LineSplitter(line => lines.push(line), 8)
    for (let part = 0; part < 1000; part += 1) splitter.push(Buffer.alloc(1000, 'x'))
    assert.deepEqual(lines, [{ text: 'xxxxxxxx', cut: true }])
    splitter.end()
    assert.equal(lines.length, 1)
  })

  it('does not cut a line that just fits', () => {
    assert.deepEqual(linesOf(['abcd\nabcd'], 4), whole('abcd', 'abcd'))
  })
})
