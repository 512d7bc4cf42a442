import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { alignTabs } from './align-tabs.ts'

describe('alignTabs', () => {
  it('makes consecutive cells as wide as the widest, and two spaces', () => {
    assert.equal(alignTabs('a:\tx\nlonger:\ty\n'), 'a:       x\nlonger:  y\n')
  })

  it('begins a new column after a line without that cell', () => {
    assert.equal(alignTabs('a:\tx\n\nlonger:\ty'), 'a:  x\n\nlonger:  y')
    assert.equal(alignTabs('\ta:\tx\n\tb\n\tlonger:\ty'), '  a:  x\n  b\n  longer:  y')
  })

  it('indents by empty cells, which take part in wider columns', () => {
    assert.equal(alignTabs('head:\n\tone\n\t\ttwo'), 'head:\n  one\n    two')
    assert.equal(alignTabs('Labels:\ta=b\n\tc=d\n'), 'Labels:  a=b\n         c=d\n')
  })

  it('leaves the end of a line alone and counts characters, not bytes', () => {
    assert.equal(alignTabs('a\tvery long\tx\n'), 'a  very long  x\n')
    assert.equal(alignTabs('ä😀:\tx\nabc:\ty'), 'ä😀:   x\nabc:  y')
  })

  it('copes with very many lines', () => {
    const lines = Array.from({ length: 200_000 }, (_, at) => `\t\t- ${at}`)
    assert.equal(alignTabs(lines.join('\n')).length, lines.join('').length - 400_000 + 800_000 + 199_999)
  })
})
