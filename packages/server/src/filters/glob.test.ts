import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compileGlob, InvalidPatternError } from './glob.ts'

const plain = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-'), maxLength: 8 })

describe('compileGlob', () => {
  const cases = [
    { pattern: 'shop', yes: ['shop'], no: ['shops', 'sho', ''] },
    { pattern: '*', yes: ['', 'a', 'a.b/c'], no: [] },
    { pattern: 'team-*', yes: ['team-', 'team-a', 'team-a.b'], no: ['team', 'my-team-a'] },
    { pattern: '*-prod-*', yes: ['a-prod-b', '-prod-'], no: ['prod', 'a-prod'] },
    { pattern: 'a*a', yes: ['aa', 'aba'], no: ['a'] },
    { pattern: 'a?c', yes: ['abc', 'a.c', 'aéc', 'a😀c'], no: ['ac', 'abbc'] },
    { pattern: '[abc]1', yes: ['a1', 'c1'], no: ['d1', '1', 'ab1'] },
    { pattern: '[a-c]', yes: ['a', 'b', 'c'], no: ['d', '-'] },
    { pattern: '[!a-c]', yes: ['d', '-'], no: ['a', 'c', ''] },
    { pattern: '[!ab]', yes: ['c'], no: ['a', 'b'] },
    { pattern: '[ab-]', yes: ['a', 'b', '-'], no: ['c'] },
    { pattern: '[\\]a]', yes: [']', 'a'], no: ['\\'] },
    { pattern: '{web,db-*}', yes: ['web', 'db-1'], no: ['webdb-1', '{web'] },
    { pattern: 'a{b{c,d},e}f', yes: ['abcf', 'abdf', 'aef'], no: ['abf', 'af'] },
    { pattern: '{web', yes: ['web'], no: ['{web'] },
    { pattern: 'a}b]c,d', yes: ['a}b]c,d'], no: ['abcd'] },
    { pattern: '\\*', yes: ['*'], no: ['a', '\\*'] },
    { pattern: 'a.b+c|d(e)', yes: ['a.b+c|d(e)'], no: ['axb+c|d(e)'] },
    { pattern: '**', yes: ['', 'ab'], no: [] },
  ]
  for (const { pattern, yes, no } of cases) {
    it(`reads ${pattern}`, () => {
      const matches = compileGlob(pattern)
      for (const name of yes) assert.equal(matches(name), true, name)
      for (const name of no) assert.equal(matches(name), false, name)
    })
  }

  for (const pattern of ['[', '[]', '[a', '[a-', '[a-c', '[a-z0-9]', '[c-a]', '[!]', 'x[a-b-c]']) {
    it(`refuses ${pattern}`, () => {
      assert.throws(() => compileGlob(pattern), InvalidPatternError)
    })
  }

  it('matches every name with its own characters replaced by wildcards', () => {
    const masked = plain.chain(name =>
      fc
        .array(fc.constantFrom('same', '?', '*', '[!_]'), { minLength: name.length, maxLength: name.length })
        .map(masks => ({
          name,
          pattern: [...name]
            .map((character, index) => (masks[index] === 'same' ? character : masks[index]))
            .join(''),
        })),
    )
    fc.assert(fc.property(masked, ({ name, pattern }) => compileGlob(pattern)(name)))
  })

  it('says about patterns of stars what splitting at them says', () => {
    const pattern = fc.array(plain, { minLength: 1, maxLength: 5 }).map(parts => parts.join('*'))
    fc.assert(
      fc.property(pattern, plain, (text, name) => {
        assert.equal(compileGlob(text)(name), matchesParts(text.split('*'), name))
      }),
    )
  })

  it('refuses braces that are nested without end, in place of running out of stack', () => {
    assert.throws(() => compileGlob('{'.repeat(100_000)), InvalidPatternError)
    assert.ok(compileGlob(`${'{a,'.repeat(100)}b`)('b'))
    assert.ok(compileGlob('{a,b}'.repeat(1000))('ab'.repeat(500)))
  })

  it('comes to an end for patterns that make backtracking explode', () => {
    const matches = compileGlob(`${'a*'.repeat(100)}b`)
    assert.equal(matches('a'.repeat(253)), false)
    assert.equal(matches(`${'a'.repeat(252)}b`), true)
  })
})

/** Whether a name is made of these parts in this order, with anything between them. */
function matchesParts(parts: readonly string[], name: string): boolean {
  const [first = '', ...rest] = parts
  if (rest.length === 0) return name === first
  if (!name.startsWith(first)) return false
  const last = rest.pop() ?? ''
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}
