import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isRepoError } from '../errors/repo-error.ts'
import { applyIgnoreRules, compileIgnoreRule, ignoreSubject, parseIgnoreFile } from './ignore-rules.ts'

function ignores(rules: string | string[], path: string, base = ''): boolean {
  const compiled = [rules].flat().map(rule => compileIgnoreRule(rule, base))
  return applyIgnoreRules(compiled, ignoreSubject(path.replace(/\/$/, ''), path.endsWith('/')), false)
}

describe('an ignore rule', () => {
  const cases: [rule: string, matches: string[], passes: string[]][] = [
    ['a.txt', ['/a.txt', '/x/y/a.txt', '/a.txt/'], ['/b.txt', '/aa.txt', '/a.txt.gz']],
    ['/a.txt', ['/a.txt'], ['/x/a.txt']],
    ['x/a.txt', ['/x/a.txt'], ['/y/x/a.txt', '/a.txt']],
    ['build/', ['/build/', '/x/build/'], ['/build', '/x/build']],
    ['*.log', ['/a.log', '/x/.log'], ['/a.log.1', '/log']],
    ['/x/*/z', ['/x/y/z'], ['/x/z', '/x/a/b/z']],
    ['x/**/z', ['/x/z', '/x/a/z', '/x/a/b/z'], ['/y/x/z']],
    ['**/z', ['/z', '/a/b/z'], ['/za']],
    ['x/**', ['/x/a', '/x/a/b'], ['/x', '/y']],
    ['**', ['/a', '/a/b'], []],
    ['a?c', ['/abc', '/x/a-c'], ['/ac', '/a/c', '/abbc']],
    ['[ab]x', ['/ax', '/bx'], ['/cx', '/abx']],
    ['[!ab]x', ['/cx'], ['/ax']],
    ['[a-c]1', ['/a1', '/b1', '/c1'], ['/d1', '/-1']],
    ['[[:digit:]]k', ['/7k'], ['/ak']],
    ['\\!a', ['/!a'], ['/a']],
    ['\\*', ['/*'], ['/a']],
    ['😀?', ['/😀a'], ['/a😀']],
    ['  spaced  ', ['/spaced'], ['/ spaced']],
    ['é ', ['/é'], ['/é ']],
    ['a ', ['/a '], ['/a']],
  ]
  for (const [rule, matches, passes] of cases) {
    it(`${JSON.stringify(rule)} leaves out ${matches.join(' ')}${passes.length ? ` and not ${passes.join(' ')}` : ''}`, () => {
      for (const path of matches) assert.ok(ignores(rule, path), path)
      for (const path of passes) assert.ok(!ignores(rule, path), path)
    })
  }

  it('is taken back by a later rule with an exclamation mark, and by an earlier one not', () => {
    assert.ok(!ignores(['*.log', '!keep.log'], '/keep.log'))
    assert.ok(ignores(['*.log', '!keep.log'], '/x/other.log'))
    assert.ok(ignores(['!keep.log', '*.log'], '/keep.log'))
    assert.ok(ignores(['*.log', '!keep.log', 'keep.*'], '/keep.log'))
  })

  it('matches nothing outside the folder it was found in', () => {
    assert.ok(ignores('a', '/sub/a', '/sub'))
    assert.ok(ignores('a', '/sub/x/a', '/sub'))
    assert.ok(!ignores('a', '/a', '/sub'))
    assert.ok(ignores('/a', '/sub/a', '/sub'))
    assert.ok(!ignores('/a', '/sub/x/a', '/sub'))
    assert.ok(ignores('x/a', '/sub/x/a', '/sub'))
  })

  it('takes a name that is not UTF-8 as one with replacement characters', () => {
    assert.ok(ignores('a?', '/a\udcff'))
    assert.ok(ignores('a\ufffd', '/a\udcff'))
  })

  it('without special characters matches exactly the paths that end with it', () => {
    const name = fc.stringMatching(/^[a-z]{1,3}$/)
    fc.assert(
      fc.property(name, fc.array(name, { minLength: 1, maxLength: 4 }), (rule, parts) => {
        assert.equal(ignores(rule, `/${parts.join('/')}`), parts.at(-1) === rule)
      }),
    )
  })

  it('never hangs and never throws while matching', () => {
    const pattern = fc.string({
      unit: fc.constantFrom('a', '*', '/', '?', '!', '[', ']', '\\', '-', ':'),
      maxLength: 12,
    })
    const path = fc.string({ unit: fc.constantFrom('a', '/', 'b'), maxLength: 20 })
    fc.assert(
      fc.property(pattern, path, (rule, text) => {
        let compiled: ReturnType<typeof compileIgnoreRule>
        try {
          compiled = compileIgnoreRule(rule)
        } catch (error) {
          assert.ok(isRepoError(error, 'INVALID_ARGUMENT'))
          return
        }
        assert.equal(typeof applyIgnoreRules([compiled], ignoreSubject(`/${text}`, false), false), 'boolean')
      }),
    )
  })

  it('that cannot be used is refused with the reason', () => {
    for (const rule of ['a\\', '[ab', '[[:nope:]]']) {
      assert.throws(
        () => compileIgnoreRule(rule),
        error => isRepoError(error, 'INVALID_ARGUMENT') && error.message.includes(JSON.stringify(rule)),
      )
    }
  })
})

describe('an ignore file', () => {
  it('holds one rule per line, without comments and blank lines, whatever ends its lines', () => {
    const rules = parseIgnoreFile('# comment\r\n\r\n*.tmp\r\n   \n!keep.tmp\n/x/')
    assert.deepEqual(
      rules.map(rule => [rule.pattern, rule.negated, rule.directoriesOnly]),
      [
        ['*.tmp', false, false],
        ['!keep.tmp', true, false],
        ['/x/', false, true],
      ],
    )
  })
})
