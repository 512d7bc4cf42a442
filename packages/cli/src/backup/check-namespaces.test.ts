import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namespaceProblems } from './check-namespaces.ts'

describe('namespaceProblems', () => {
  it('finds nothing wrong with names, patterns and the empty name', () => {
    assert.deepEqual(namespaceProblems(['*'], []), [])
    assert.deepEqual(namespaceProblems(['', 'a-1', 'team-*', 'x?', '[a-c]x'], ['b', '*-old']), [])
  })

  const wrong: [string[], string[], RegExp][] = [
    [['*', 'a'], [], /^includes list must either contain '\*' only/],
    [[], ['*'], /^excludes list cannot contain '\*'$/],
    [['a'], ['a'], /^excludes list cannot contain an item in the includes list: a$/],
    [['A'], [], /^invalid namespace "A": a lowercase RFC 1123 label/],
    [['a.b'], [], /^invalid namespace "a.b": must not contain dots$/],
    [['x'.repeat(64)], [], /: must be no more than 63 characters$/],
    [['a|b'], [], /^wildcard pattern contains unsupported characters/],
    [['a**'], [], /^wildcard pattern contains consecutive asterisks/],
    [['a[]'], [], /^wildcard pattern contains empty bracket pattern '\[\]'$/],
    [['a[b'], [], /^wildcard pattern contains unclosed bracket '\['$/],
    [[], ['a]'], /^wildcard pattern contains unmatched closing bracket '\]'$/],
  ]
  for (const [included, excluded, problem] of wrong) {
    it(`has one thing to say about ${JSON.stringify([included, excluded])}`, () => {
      const problems = namespaceProblems(included, excluded)
      assert.equal(problems.length, 1)
      assert.match(problems[0] ?? '', problem)
    })
  }
})
