import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { maskSource } from './mask-source.ts'

describe('maskSource', () => {
  it('keeps the length and the lines of the source', () => {
    const source = `const a = 'x' // y\n/* two\nlines */ const b = \`t\${'u'}v\`\nconst c = /re['"]/.test(a)\n`
    const { code } = maskSource(source)
    assert.equal(code.length, source.length)
    assert.deepEqual(
      [...code.matchAll(/\n/g)].map(m => m.index),
      [...source.matchAll(/\n/g)].map(m => m.index),
    )
  })

  it('blanks comments, strings, templates and regular expressions', () => {
    const cases = [
      "'secret'",
      '"secret"',
      '// secret',
      '/* secret */',
      '`secret`',
      'x = /secret/',
      "'it\\'s secret'",
    ]
    for (const source of cases) assert.doesNotMatch(maskSource(source).code, /secret/, source)
  })

  it('keeps the code inside a template substitution', () => {
    assert.match(maskSource(`\`a \${call({ b: \`c \${deep} d\` })} e\``).code, /call\(\{ b: .*deep.*\}\)/)
  })

  it('takes a slash after a value for a division', () => {
    assert.match(maskSource('const half = total / 2; const kept = 1 / 3').code, /const kept/)
  })

  it('does not end a regular expression at a slash in a class', () => {
    assert.match(maskSource("const re = /[/']/; const kept = 1").code, /const kept = 1/)
  })

  it('recovers at the line end from a quote that is never closed', () => {
    assert.match(maskSource("<p>don't</p>\nconst kept = 1").code, /const kept = 1/)
  })

  it('gives the text of plain strings and templates, and none for templates with substitutions', () => {
    const { literals } = maskSource(`f('a', \`b\`, \`c\${d}\`)`)
    assert.deepEqual(
      [...literals.values()].map(({ value }) => value),
      ['a', 'b'],
    )
  })
})
