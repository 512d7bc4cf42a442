import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scanImports } from './scan-imports.ts'

function kinds(source: string): [string | undefined, string][] {
  return scanImports(source).map(({ specifier, kind }) => [specifier, kind])
}

describe('scanImports', () => {
  const forms: [string, string][] = [
    ["import a from 'm'", 'static'],
    ["import a, { b as c } from 'm'", 'static'],
    ["import * as a from 'm'", 'static'],
    ["import {\n  a,\n  b,\n} from 'm'", 'static'],
    ["import { type A } from 'm'", 'static'],
    ["import {a}from'm'", 'static'],
    ['import "m"', 'static'],
    ["import type from 'm'", 'static'],
    ["import a from 'm' with { type: 'json' }", 'static'],
    ["export { a, b as c } from 'm'", 'static'],
    ["export * from 'm'", 'static'],
    ["export * as ns from 'm'", 'static'],
    ["const a = require('m')", 'static'],
    ["import type A from 'm'", 'type'],
    ["import type { A } from 'm'", 'type'],
    ["import type * as ns from 'm'", 'type'],
    ["import type{A}from'm'", 'type'],
    ["export type { A } from 'm'", 'type'],
    ["export type * from 'm'", 'type'],
    ["const a = await import('m')", 'dynamic'],
    ['const a = await import(`m`)', 'dynamic'],
    ["const a = import(\n  'm',\n  { with: {} })", 'dynamic'],
    ["type A = typeof import('m')", 'dynamic'],
  ]
  for (const [source, kind] of forms) {
    it(`sees a ${kind} import in ${JSON.stringify(source)}`, () => {
      assert.deepEqual(kinds(source), [['m', kind]])
    })
  }

  it('sees a worker or process started from a module file', () => {
    assert.deepEqual(kinds("new Worker(new URL('./hash.ts', import.meta.url))"), [['./hash.ts', 'dynamic']])
    assert.deepEqual(kinds("new URL('./data.json', import.meta.url); new URL('https://a.ts')"), [])
  })

  it('reports an import() of a computed name without a specifier', () => {
    assert.deepEqual(kinds('await import(name)'), [[undefined, 'dynamic']])
    assert.deepEqual(kinds("await import('./' + name)"), [[undefined, 'dynamic']])
    assert.deepEqual(kinds(`await import(\`./\${name}.ts\`)`), [[undefined, 'dynamic']])
  })

  it('takes nothing for an import that only looks like one', () => {
    const sources = [
      "// import a from 'm'",
      "/* export * from 'm' */",
      'const text = "import a from \'m\'"',
      "`import a from 'm'`",
      'import.meta.url',
      "loader.import('m')",
      "const o = { import: 'm' }",
      "const from = 'm'",
    ]
    for (const source of sources) assert.deepEqual(kinds(source), [], source)
  })

  it('names the line of each import, in order', () => {
    const source = "import 'a'\n\nimport type { B } from 'b'\nconst c = await import('c')\nexport * from 'd'"
    assert.deepEqual(
      scanImports(source).map(({ specifier, line }) => [specifier, line]),
      [
        ['a', 1],
        ['b', 3],
        ['c', 4],
        ['d', 5],
      ],
    )
  })
})
