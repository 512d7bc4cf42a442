import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BenchRow, isMet, printReport, printTable, ratioOf } from './report.ts'

const list: BenchRow = {
  what: 'list 30,000',
  ours: { value: 800, unit: 'ms' },
  peer: { name: 'kubectl', value: 1000, unit: 'ms' },
  goal: { of: 'ratio', atMost: 1 },
}
const memory: BenchRow = {
  what: 'peak RSS',
  ours: { value: 250, unit: 'MiB' },
  goal: { of: 'ours', atMost: 200 },
}

describe('a bench row', () => {
  it('is compared with the peer as a ratio', () => {
    assert.equal(ratioOf(list), 0.8)
    assert.equal(ratioOf(memory), undefined)
  })

  it('meets a goal on the ratio or on our own number', () => {
    assert.equal(isMet(list), true)
    assert.equal(isMet({ ...list, goal: { of: 'ratio', atLeast: 0.9 } }), false)
    assert.equal(isMet(memory), false)
  })

  it('neither meets nor misses a goal that there is nothing to hold against', () => {
    assert.equal(isMet({ ...memory, goal: { of: 'ratio', atMost: 1 } }), undefined)
    assert.equal(
      isMet({ ...list, peer: { name: 'none', value: 0, unit: 'ms' }, ours: { value: 0, unit: 'ms' } }),
      undefined,
    )
  })
})

describe('a bench report', () => {
  it('shows rows with numbers, ratio, goal and whether it is met', () => {
    const [, , first, second] = printTable([list, memory]).split('\n')
    assert.match(
      first ?? '',
      /^\| list 30,000 +\| 800 ms +\| 1000 ms \(kubectl\) +\| 0\.80 +\| ratio <= 1 +\| yes +\|$/,
    )
    assert.match(second ?? '', /^\| peak RSS +\| 250 MiB +\| +\| +\| ours <= 200 MiB +\| no +\|$/)
  })

  it('names the bench, the day and the machine', () => {
    const machine = { cpu: 'A processor', cores: 2, memoryGiB: 4, system: 'Linux 6', node: 'v24.0.0' }
    const report = printReport({
      name: 'kube',
      machine,
      started: new Date(0),
      rows: [list],
      notes: ['five runs'],
    })
    assert.match(report, /^# Bench kube\n\n1970-01-01T00:00:00.000Z, A processor, 2 cores, 4 GiB/)
    assert.match(report, /\n- five runs\n/)
  })
})
