import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseImportTable } from './import-table.ts'

const document = `
# Title
## Before
| not | this |
|---|---|
| \`a\` | \`b\` |
## Who may import whom
### Packages
| package | may import | lazily |
|---|---|---|
| \`packages/a\` | nothing | nothing |
| \`packages/b\` | \`packages/a\` | \`packages/c\` |
| \`tools\` | everything in \`packages\` | nothing |
### Folders of \`packages/a/src\`
| folder | may import |
|---|---|
| \`.\` | everything |
| \`low\` | nothing |
### Modules from outside
| module | only in |
|---|---|
| \`@aws-sdk/*\` | \`packages/a/src/s3.ts\` |
### What an entry may load
| entry | never loads |
|---|---|
| \`packages/b/src/index.ts\` (planned) | \`packages/c\` |
## After
### Packages
`

describe('parseImportTable', () => {
  it('reads the tables of its section and no others', () => {
    assert.deepEqual(parseImportTable(document), {
      packages: [
        { who: 'packages/a', imports: [], lazily: [] },
        { who: 'packages/b', imports: ['packages/a'], lazily: ['packages/c'] },
        { who: 'tools', imports: ['packages', 'packages/a', 'packages/b'], lazily: [] },
      ],
      folders: [
        {
          root: 'packages/a/src',
          rows: [
            { who: '.', imports: 'everything', lazily: [] },
            { who: 'low', imports: [], lazily: [] },
          ],
        },
      ],
      modules: [{ module: '@aws-sdk/*', onlyIn: ['packages/a/src/s3.ts'] }],
      entries: [{ entry: 'packages/b/src/index.ts', planned: true, neverLoads: ['packages/c'] }],
    })
  })

  it('refuses a document without the section', () => {
    assert.throws(() => parseImportTable('# Architecture\n'), { code: 'IMPORT_TABLE_UNREADABLE' })
  })

  it('refuses a section in which a table is missing', () => {
    assert.throws(() => parseImportTable(document.replace('### Modules from outside', '### Other')), {
      message: /"Modules from outside" is missing/,
    })
  })

  it('refuses a cell that could be taken for no rule at all', () => {
    assert.throws(
      () => parseImportTable(document.replace('| `packages/a` | `packages/c` |', '| packages/a | |')),
      {
        message: /a cell holds "packages\/a"/,
      },
    )
  })
})
