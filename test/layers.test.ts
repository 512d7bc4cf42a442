import assert from 'node:assert/strict'
import { access, readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { checkLayers, printViolation } from '../tools/test/layers/check-layers.ts'
import { findDrawers } from '../tools/test/layers/check-names.ts'
import { buildImportGraph } from '../tools/test/layers/import-graph.ts'
import { parseImportTable } from '../tools/test/layers/import-table.ts'
import { readSourceTree } from '../tools/test/layers/source-tree.ts'

const root = path.join(import.meta.dirname, '..')
const tree = await readSourceTree(root)

describe('the workspace', () => {
  it('imports only what the tables of ARCHITECTURE.md allow', async () => {
    const table = parseImportTable(await readFile(path.join(root, 'ARCHITECTURE.md'), 'utf8'))
    const violations = checkLayers(table, { graph: buildImportGraph(tree), packages: tree.packages })
    const report = violations.map(printViolation).join('\n\n')
    assert.equal(violations.length, 0, `${violations.length} imports against ARCHITECTURE.md\n\n${report}\n`)
  })

  it('has no folder or file named like a drawer', () => {
    assert.deepEqual(findDrawers(tree.files.keys()), [])
  })

  for (const { folder } of tree.packages) {
    it(`${folder} has a README`, () => access(path.join(root, folder, 'README.md')))
  }
})
