import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { resourceTimeoutOf } from './resource-timeout.ts'

const of = (text?: string) => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'b', ...(text !== undefined && { annotations: { 'velero.io/resource-timeout': text } }) },
  spec: {},
})

describe('the time that the objects of a backup may take', () => {
  it('is what the backup says, and what is usual when it says nothing', () => {
    assert.deepEqual(resourceTimeoutOf(of('2m0s'), 600_000), { timeoutMs: 120_000 })
    assert.deepEqual(resourceTimeoutOf(of(), 600_000), { timeoutMs: 600_000 })
    assert.deepEqual(resourceTimeoutOf(of(''), 600_000), { timeoutMs: 600_000 })
  })

  it('is what is usual when the backup says nonsense, and it is told', () => {
    for (const text of ['soon', '0s', '-5m']) {
      const { timeoutMs, problem = '' } = resourceTimeoutOf(of(text), 600_000)
      assert.equal(timeoutMs, 600_000)
      assert.ok(problem.includes(JSON.stringify(text)), problem)
    }
  })
})
