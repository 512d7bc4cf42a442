import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileGoRegexp, InvalidRegexpError } from './go-regexp.ts'
import { compileResourcePattern } from './resource-pattern.ts'

describe('compileGoRegexp', () => {
  const cases: { pattern: string; finds: string[]; not: string[] }[] = [
    { pattern: '', finds: ['', 'x'], not: [] },
    { pattern: '^mysql.*$', finds: ['mysql', 'mysql-0'], not: ['my', 'a-mysql'] },
    { pattern: 'b+', finds: ['abc', 'b'], not: ['ac', ''] },
    { pattern: '^(?:a|bc){2,3}$', finds: ['abc', 'aa', 'bcabc'], not: ['a', 'aaaa'] },
    { pattern: '^a{2}$', finds: ['aa'], not: ['a', 'aaa'] },
    { pattern: '^a{2,}$', finds: ['aa', 'aaaa'], not: ['a'] },
    { pattern: '^a{,2}$', finds: ['a{,2}'], not: ['a', 'aa'] },
    { pattern: '(?i)^WEB$', finds: ['web', 'WeB'], not: ['we'] },
    { pattern: '^a(?i:b)c$', finds: ['abc', 'aBc'], not: ['ABC', 'abC'] },
    { pattern: '^a(?i)b|c$', finds: ['aB', 'xC'], not: ['Ab'] },
    { pattern: '(?P<app>x)(?<tier>y)', finds: ['xy'], not: ['x'] },
    { pattern: '^[[:alpha:]]+[^[:^digit:]]$', finds: ['ab1'], not: ['ab', '1'] },
    { pattern: '^[]a]$', finds: [']', 'a'], not: ['b'] },
    { pattern: '^[^]a]$', finds: ['b'], not: [']', 'a'] },
    { pattern: '^[a-c-]$', finds: ['b', '-'], not: ['d'] },
    { pattern: '^[\\d\\-x]+$', finds: ['1-x'], not: ['a'] },
    { pattern: '^\\w+\\.\\pL\\p{^Lu}\\P{Greek}$', finds: ['a.xyz'], not: ['a.xYz', 'a.xyω'] },
    { pattern: '\\bweb\\b', finds: ['a-web-1'], not: ['webs'] },
    { pattern: 'a\\Bb', finds: ['ab'], not: ['a b'] },
    { pattern: '\\Qa.b\\E+', finds: ['a.bb'], not: ['axb'] },
    { pattern: '\\x41\\x{42}\\103', finds: ['ABC'], not: ['abc'] },
    { pattern: '^a.c$', finds: ['abc', 'a\u{1f600}c'], not: ['a\nc'] },
    { pattern: '(?s)^a.c$', finds: ['a\nc'], not: ['ac'] },
    { pattern: '(?m)^b$', finds: ['a\nb\nc'], not: ['ab'] },
    { pattern: 'a$', finds: ['a'], not: ['a\n'] },
    { pattern: '(?:)*(a*)*b', finds: ['b', 'aab'], not: ['aa'] },
    { pattern: '^(|a)+$', finds: ['', 'aa'], not: ['b'] },
  ]
  for (const { pattern, finds, not } of cases) {
    it(`${JSON.stringify(pattern)} is found where Go finds it`, () => {
      const test = compileGoRegexp(pattern)
      for (const text of finds) assert.equal(test(text), true, `${JSON.stringify(text)} was not found`)
      for (const text of not) assert.equal(test(text), false, `${JSON.stringify(text)} was found`)
    })
  }

  const refused = [
    '(',
    ')',
    'a**',
    '*a',
    'a{1001}',
    '(a{100}){100}',
    'a{3,2}',
    '[b-a]',
    '[a',
    '\\1',
    '\\k',
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '[[:foo:]]',
    '\\p{Foo}',
    '\\',
    '(?i',
    '(?z)',
  ]
  for (const pattern of refused) {
    it(`${JSON.stringify(pattern)} is refused`, () => {
      assert.throws(() => compileGoRegexp(pattern), InvalidRegexpError)
    })
  }

  it('takes no longer for patterns that keep other engines busy for years', () => {
    assert.equal(compileGoRegexp('^(a+)+$')(`${'a'.repeat(2000)}b`), false)
    assert.equal(compileGoRegexp('(x+x+)+y')('x'.repeat(2000)), false)
  })
})

describe('compileResourcePattern', () => {
  const cases: { pattern: string; matches: string[]; not: string[] }[] = [
    { pattern: 'pods', matches: ['pods'], not: ['pods.metrics.k8s.io', 'pod'] },
    { pattern: '*', matches: ['pods', ''], not: ['deployments.apps'] },
    { pattern: '**', matches: ['pods', 'deployments.apps', 'ingresses.networking.k8s.io'], not: [] },
    { pattern: '*.apps', matches: ['deployments.apps'], not: ['apps', 'a.b.apps'] },
    { pattern: 'deployments.*', matches: ['deployments.apps'], not: ['deployments.a.b', 'deployments'] },
    { pattern: '**.k8s.io', matches: ['ingresses.networking.k8s.io'], not: ['k8s.io'] },
    {
      pattern: '{pods,{jobs,cronjobs}.batch}',
      matches: ['pods', 'jobs.batch', 'cronjobs.batch'],
      not: ['jobs'],
    },
    { pattern: '{pods,secrets', matches: ['pods', 'secrets'], not: ['pods,secrets'] },
    { pattern: 'pod?', matches: ['pods'], not: ['pod', 'pod.'] },
    { pattern: 'pod[rst]', matches: ['pods'], not: ['podx'] },
    { pattern: 'pod[!a-f]', matches: ['pods', 'pod.'], not: ['poda'] },
    { pattern: 'a\\*', matches: ['a*'], not: ['ab'] },
    { pattern: 'a,b}', matches: ['a,b}'], not: ['a'] },
  ]
  for (const { pattern, matches, not } of cases) {
    it(`${pattern} stands for ${matches.join(', ')}${not.length > 0 ? ` and not for ${not.join(', ')}` : ''}`, () => {
      const test = compileResourcePattern(pattern)
      for (const name of matches) assert.equal(test(name), true, name)
      for (const name of not) assert.equal(test(name), false, name)
    })
  }
})
