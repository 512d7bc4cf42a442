import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { histogram } from './family.ts'
import { PhaseTimes } from './phase-times.ts'
import { createMetricsRegistry } from './registry.ts'

const inPhase = (phase: string | undefined) => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'one', uid: 'u' },
  ...(phase !== undefined && { status: { phase } }),
})

function given() {
  let now = 0
  const registry = createMetricsRegistry()
  const seconds = registry.histogram(
    histogram({ name: 'took', help: 'Time', labels: ['kind', 'phase'], buckets: [] }),
  )
  const times = new PhaseTimes({
    ...{ kind: 'Backup', seconds },
    clock: { now: () => now, sleep: async () => undefined },
    isLast: phase => phase === 'Completed',
  })
  const move = (from: string | undefined, to: string, afterMs: number) => {
    now += afterMs
    times.see({ type: 'updated', previous: inPhase(from), object: inPhase(to) })
  }
  const shown = () => registry.render().match(/^took_sum.*$/gm) ?? []
  return { times, move, shown }
}

describe('PhaseTimes', () => {
  it('measures how long an object stays in each phase that it leaves', () => {
    const { times, move, shown } = given()
    times.see({ type: 'added', object: inPhase(undefined) })
    move(undefined, 'InProgress', 2_000)
    move('InProgress', 'InProgress', 3_000)
    move('InProgress', 'Completed', 4_000)
    move('Completed', 'Deleting', 100_000)
    assert.deepEqual(shown(), [
      'took_sum{kind="Backup",phase="New"} 2',
      'took_sum{kind="Backup",phase="InProgress"} 7',
    ])
  })

  it('says nothing of a phase whose beginning it has not seen', () => {
    const { times, move, shown } = given()
    times.see({ type: 'added', object: inPhase('InProgress') })
    move('InProgress', 'Finalizing', 5_000)
    assert.deepEqual(shown(), [])
    times.see({ type: 'deleted', object: inPhase('Finalizing') })
    move('Finalizing', 'Completed', 1_000)
    assert.deepEqual(shown(), [])
  })
})
