import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { printSoakReport, type SoakResult } from './soak-report.ts'

const result: SoakResult = {
  plan: { name: 'writer', shows: 'it holds', files: ['a.test.ts'], seeds: 10, timeoutMinutes: 1 },
  machine: { cpu: 'A processor', cores: 2, memoryGiB: 4, system: 'Linux 6', node: 'v24.0.0' },
  started: new Date('2026-01-02T03:04:05Z'),
  seconds: 61.4,
  firstSeed: 100,
  seeds: 10,
  exitCode: 0,
  output: '✔ fine\nℹ tests 10\nℹ pass 10\nℹ fail 0\n',
}

describe('printSoakReport', () => {
  it('names machine, seeds and counts of a soak that passed', () => {
    const report = printSoakReport(result)
    for (const part of [
      '# Soak writer: passed',
      'A processor, 2 cores',
      'seeds 100 to 109',
      'tests 10, pass 10, fail 0',
    ]) {
      assert.ok(report.includes(part), part)
    }
    assert.ok(!report.includes('✔ fine'))
  })

  it('adds up the summaries of several runs', () => {
    const report = printSoakReport({ ...result, output: result.output.repeat(3) })
    assert.match(report, /tests 30, pass 30, fail 0/)
  })

  it('keeps the end of the output of one that failed', () => {
    const report = printSoakReport({ ...result, exitCode: 1, output: '✖ torn (seed 104)\n' })
    assert.match(report, /# Soak writer: FAILED/)
    assert.match(report, /no summary, exit code 1/)
    assert.match(report, /✖ torn \(seed 104\)/)
  })
})
