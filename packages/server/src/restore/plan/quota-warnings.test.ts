import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exceeded } from './quota-warnings.ts'

function quota(hard: Record<string, string>, used: Record<string, string>, spec: object = {}) {
  return { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec, status: { hard, used } }
}

describe('exceeded', () => {
  const created = new Map([
    ['configmaps', 3],
    ['deployments.apps', 1],
  ])

  it('counts objects by either name that a quota may use', () => {
    const left = 'leaves room for 2 more'
    const told = exceeded(
      quota({ configmaps: '5', 'count/configmaps': '5' }, { configmaps: '3', 'count/configmaps': '3' }),
      'n',
      created,
    )
    assert.deepEqual(told, [
      `the quota q of namespace n ${left} configmaps, and 3 are to be created: 1 of them will be refused`,
      `the quota q of namespace n ${left} count/configmaps, and 3 are to be created: 1 of them will be refused`,
    ])
  })

  it('says nothing where there is room, or where numbers of objects do not decide', () => {
    assert.deepEqual(exceeded(quota({ 'count/deployments.apps': '1', cpu: '100m' }, {}), 'n', created), [])
    assert.deepEqual(exceeded(quota({ configmaps: '0' }, {}, { scopes: ['BestEffort'] }), 'n', created), [])
  })

  it('never says that less than nothing is left', () => {
    const [told] = exceeded(quota({ configmaps: '1' }, { configmaps: '4' }), 'n', created)
    assert.match(told ?? '', /room for 0 more configmaps, and 3 are to be created: 3 of them/)
  })
})
