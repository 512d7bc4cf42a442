import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLogger } from '@lateen/kube'
import { RestoreReport } from './restore-report.ts'

describe('The report of a restore', () => {
  it('has the texts of warnings and errors where they belong, and nothing where there are none', () => {
    const report = new RestoreReport(silentLogger)
    assert.deepEqual(report.results, { errors: {}, warnings: {} })
    const told = (text: string) => ({ error: new Error(text), message: 'x' })
    report.warn({ place: { namespace: 'shop' }, ...told('a') })
    report.warn({ place: { namespace: '' }, ...told('b') })
    report.error({ place: 'restore', ...told('c') })
    report.error({ place: { namespace: 'shop' }, ...told('d') })
    assert.deepEqual(report.results, {
      warnings: { namespaces: { shop: ['a'] }, cluster: ['b'] },
      errors: { velero: ['c'], namespaces: { shop: ['d'] } },
    })
    assert.deepEqual([report.warnings, report.errors], [2, 2])
  })

  it('counts all, and keeps so many that a person can read them', () => {
    const report = new RestoreReport(silentLogger)
    for (let index = 0; index < 10_003; index++) {
      report.error({ place: { namespace: 'shop' }, error: new Error(`${index}`), message: 'x' })
    }
    assert.equal(report.errors, 10_003)
    assert.equal(report.results.errors.namespaces?.shop?.length, 10_000)
    assert.deepEqual(report.results.errors.velero, ['3 more are in the log'])
  })
})
