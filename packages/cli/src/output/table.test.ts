import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { backupLocationColumns } from './backup-location-columns.ts'
import { type Column, labelColumns, renderTable } from './table.ts'

const columns: Column[] = [
  { header: 'A', cell: (row: string[]) => row[0] ?? '' },
  { header: 'LONGER', cell: (row: string[]) => row[1] ?? '' },
  { header: 'LAST', cell: (row: string[]) => row[2] ?? '' },
]

describe('renderTable', () => {
  it('pads by three spaces to at least six, and leaves the last column alone', () => {
    assert.equal(
      renderTable(columns, [
        ['x', 'y', 'z'],
        ['1234', '12345678', ''],
      ]),
      ['A      LONGER     LAST', 'x      y          z', '1234   12345678   ', ''].join('\n'),
    )
    assert.equal(renderTable(columns.slice(0, 2), [['x', 'y']]), 'A     LONGER\nx     y\n')
  })

  it('prints nothing, not even headers, without objects', () => {
    assert.equal(renderTable(columns, []), '')
  })

  it('cuts a cell at its first line break and disarms terminal escapes', () => {
    assert.equal(
      renderTable(columns.slice(0, 1), [['one\ntwo'], ['\u001b[31mred\u0007']]),
      'A\none...\n^[[31mred?\n',
    )
  })
})

describe('labelColumns', () => {
  const objects = [{ metadata: { labels: { 'example.com/team': 'web', app: 'b' } } }, { metadata: {} }]

  it('shows picked labels under the last part of their names, then all labels in order', () => {
    assert.equal(
      renderTable(labelColumns(['example.com/team'], true), objects),
      ['TEAM     LABELS', 'web      app=b,example.com/team=web', '<none>   <none>', ''].join('\n'),
    )
  })
})

describe('backupLocationColumns', () => {
  it('fills in what an unvalidated location lacks', () => {
    const bare = {
      metadata: { name: 'a' },
      spec: { provider: 'aws', objectStorage: { bucket: 'b', prefix: 'c/d' } },
    }
    assert.deepEqual(
      backupLocationColumns.map(column => column.cell(bare)),
      ['a', 'aws', 'b/c/d', 'Unknown', 'Unknown', 'ReadWrite', ''],
    )
  })
})
