import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkLayers, printViolation } from './check-layers.ts'
import { buildImportGraph } from './import-graph.ts'
import type { ImportTable } from './import-table.ts'
import { workspacePackage } from './source-tree.ts'

const table: ImportTable = {
  packages: [
    { who: 'packages/low', imports: [], lazily: [] },
    { who: 'packages/heavy', imports: ['packages/low'], lazily: [] },
    { who: 'packages/cli', imports: ['packages/low'], lazily: ['packages/heavy'] },
    { who: 'tools', imports: ['packages/low'], lazily: [] },
  ],
  folders: [
    {
      root: 'packages/heavy/src',
      rows: [
        { who: '.', imports: 'everything', lazily: [] },
        { who: 'flow', imports: ['door'], lazily: [] },
        { who: 'door', imports: [], lazily: [] },
      ],
    },
  ],
  modules: [
    { module: '@aws-sdk/*', onlyIn: ['packages/heavy/src/door'] },
    { module: 'node:fs', onlyIn: ['packages/heavy/src/door/files.ts'] },
    { module: '(computed)', onlyIn: [] },
  ],
  entries: [],
}

const packages = [
  workspacePackage('packages/low', { name: '@x/low', exports: { '.': './src/index.ts' } }),
  workspacePackage('packages/heavy', {
    name: '@x/heavy',
    exports: { '.': './src/index.ts' },
    dependencies: { '@x/low': '1', '@aws-sdk/client-s3': '3' },
  }),
  workspacePackage('packages/cli', {
    name: '@x/cli',
    exports: { '.': './src/index.ts' },
    dependencies: { '@x/low': '1', '@x/heavy': '1' },
  }),
]

function violations(files: Record<string, string>, rules: Partial<ImportTable> = {}): string[] {
  const graph = buildImportGraph({ files: new Map(Object.entries(files)), packages })
  return checkLayers({ ...table, ...rules }, { graph, packages }).map(printViolation)
}

describe('checkLayers', () => {
  it('accepts a tree that keeps the table', () => {
    const tree = {
      'packages/low/src/index.ts': 'export const a = 1',
      'packages/heavy/src/index.ts': "export { f } from './flow/f.ts'",
      'packages/heavy/src/flow/f.ts': "import { a } from '@x/low'\nimport { s } from '../door/s3.ts'",
      'packages/heavy/src/door/s3.ts': "import { S3 } from '@aws-sdk/client-s3'",
      'packages/heavy/src/door/files.ts': "import { readFile } from 'node:fs/promises'",
      'packages/cli/src/index.ts': "import { a } from '@x/low'\nconst h = await import('@x/heavy')",
      'packages/low/src/a.test.ts': "import { seed } from '../../../tools/seed.ts'",
      'tools/seed.ts': "import { a } from '@x/low'",
    }
    assert.deepEqual(violations(tree), [])
  })

  it('prints the import of a package against the direction', () => {
    const found = violations({ 'packages/low/src/a.ts': "\nimport type { B } from '@x/heavy'" })
    assert.equal(
      found[0],
      'packages/low may not import packages/heavy\n  packages/low/src/a.ts:2\n    -> packages/heavy/src/index.ts',
    )
  })

  it('tells a static import from the await import() that is allowed', () => {
    const found = violations({ 'packages/cli/src/a.ts': "import { h } from '@x/heavy'" })
    assert.match(found.join('\n'), /packages\/cli may load packages\/heavy only by await import\(\)/)
  })

  it('bars packages from tools, and their tests from nothing there', () => {
    const source = "import { seed } from '../../../tools/seed.ts'"
    assert.match(violations({ 'packages/low/src/a.ts': source }).join(), /packages\/low may not import tools/)
    assert.deepEqual(violations({ 'packages/low/src/a.test.ts': source }), [])
  })

  it('finds a door that imports a flow', () => {
    const found = violations({ 'packages/heavy/src/door/d.ts': "import { f } from '../flow/f.ts'" })
    assert.match(
      found.join(),
      /heavy\/src\/door may not import packages\/heavy\/src\/flow\n {2}packages\/heavy\/src\/door\/d.ts:1/,
    )
  })

  it('refuses a folder that the table does not know', () => {
    const found = violations({ 'packages/heavy/src/new/a.ts': "import { d } from '../door/d.ts'" })
    assert.match(found.join(), /heavy\/src\/new is not in the table of folders/)
  })

  it('finds a module outside its place, with and without the node: scheme', () => {
    assert.match(
      violations({ 'packages/low/src/a.ts': "import fs from 'node:fs'" }).join(),
      /node:fs may be imported only in/,
    )
    assert.match(
      violations({ 'packages/low/src/a.ts': "import fs from 'fs'" }).join(),
      /node:fs may be imported only in/,
    )
    assert.match(
      violations({ 'packages/heavy/src/flow/a.ts': "await import('@aws-sdk/client-s3')" }).join(),
      /@aws-sdk\/\* may be imported only in packages\/heavy\/src\/door\n {2}packages\/heavy\/src\/flow\/a.ts:1/,
    )
    assert.match(
      violations({ 'packages/low/src/a.ts': 'await import(name)' }).join(),
      /\(computed\) may be imported/,
    )
  })

  it('finds a module that the manifest does not declare', () => {
    const found = violations({ 'packages/low/src/a.ts': "import y from 'yaml/sub'" })
    assert.match(found.join(), /packages\/low\/package.json does not declare yaml/)
  })

  it('finds a way into another package beside its exports', () => {
    const byPath = violations({ 'packages/heavy/src/a.ts': "import { a } from '../../low/src/index.ts'" })
    assert.match(byPath.join(), /@x\/low is entered by another way than its exports/)
    const byName = violations({ 'packages/heavy/src/a.ts': "import { a } from '@x/low/src/deep.ts'" })
    assert.match(byName.join(), /@x\/low is entered by another way than its exports/)
  })

  it('prints the whole chain from an entry to what it must not load', () => {
    const tree = {
      'packages/cli/src/index.ts': "import './one.ts'",
      'packages/cli/src/one.ts': "import type { X } from '@x/heavy'\n\nimport './two.ts'",
      'packages/cli/src/two.ts': "import { S3 } from '@aws-sdk/client-s3'",
    }
    const entries = [
      { entry: 'packages/cli/src/index.ts', planned: false, neverLoads: ['packages/heavy', '@aws-sdk/*'] },
    ]
    const found = violations(tree, { entries }).filter(text => text.startsWith('loading'))
    assert.deepEqual(found, [
      [
        'loading packages/cli/src/index.ts loads @aws-sdk/*',
        '  packages/cli/src/index.ts:1',
        '    -> packages/cli/src/one.ts:3',
        '      -> packages/cli/src/two.ts:1',
        '        -> @aws-sdk/client-s3',
      ].join('\n'),
    ])
  })

  it('allows an entry to reach by await import() what it must not load', () => {
    const tree = { 'packages/cli/src/index.ts': "const run = () => import('@x/heavy')" }
    const entries = [{ entry: 'packages/cli/src/index.ts', planned: false, neverLoads: ['packages/heavy'] }]
    assert.deepEqual(violations(tree, { entries }), [])
  })

  it('refuses an entry that is missing, and a planned one that is there', () => {
    const rule = { entry: 'packages/cli/src/index.ts', neverLoads: ['packages/heavy'] }
    assert.match(violations({}, { entries: [{ ...rule, planned: false }] }).join(), /does not exist/)
    assert.deepEqual(violations({}, { entries: [{ ...rule, planned: true }] }), [])
    const tree = { 'packages/cli/src/index.ts': '' }
    assert.match(violations(tree, { entries: [{ ...rule, planned: true }] }).join(), /drop "\(planned\)"/)
  })

  it('prints each circle of imports once, and none that types alone close', () => {
    const circle = {
      'packages/low/src/a.ts': "import './b.ts'",
      'packages/low/src/b.ts': "import './c.ts'",
      'packages/low/src/c.ts': "import './a.ts'",
    }
    assert.deepEqual(violations(circle), [
      [
        'files load each other in a circle',
        '  packages/low/src/a.ts:1',
        '    -> packages/low/src/b.ts:1',
        '      -> packages/low/src/c.ts:1',
        '        -> packages/low/src/a.ts',
      ].join('\n'),
    ])
    assert.deepEqual(
      violations({ ...circle, 'packages/low/src/c.ts': "import type { A } from './a.ts'" }),
      [],
    )
  })
})
