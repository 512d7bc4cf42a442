import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createController, done, type Source, silentLogger, systemClock, TerminalError } from '@lateen/kube'
import { registerLateenMetrics } from './lateen-metrics.ts'
import { observeController } from './observe-controller.ts'
import { createMetricsRegistry } from './registry.ts'

describe('observeController', () => {
  it('counts what a controller does, and leaves it as it is', async () => {
    const registry = createMetricsRegistry()
    const own = registerLateenMetrics(registry)
    const stop = new AbortController()
    const tried: string[] = []
    const seen: string[] = []
    const source: Source = {
      async run(emit) {
        for (const key of ['good', 'bad', 'worse']) emit(key)
      },
    }
    const options = observeController(
      {
        name: 'fishing',
        sources: [source],
        backoff: { baseMs: 1, maxMs: 1, jitter: 0 },
        observer: { added: key => void seen.push(key) },
        async reconcile(key) {
          tried.push(key)
          if (key === 'worse') throw new TerminalError('never')
          if (key === 'bad' && tried.filter(each => each === 'bad').length === 1) throw new Error('once')
          if (key === 'bad') stop.abort()
          return done()
        },
      },
      { own, clock: systemClock },
    )
    const controller = createController(options, { log: silentLogger, clock: systemClock, random: () => 0.5 })
    await controller.run({ signal: stop.signal, abort: new AbortController().signal })
    assert.deepEqual(tried, ['good', 'bad', 'worse', 'bad'])
    assert.deepEqual(seen.slice(0, 3), ['good', 'bad', 'worse'])
    const shown = registry.render()
    for (const line of [
      'lateen_reconcile_total{controller="fishing",result="done"} 2',
      'lateen_reconcile_total{controller="fishing",result="failed"} 1',
      'lateen_reconcile_total{controller="fishing",result="failed for good"} 1',
      'lateen_reconcile_duration_seconds_count{controller="fishing"} 4',
      'lateen_workqueue_retries_total{controller="fishing"} 1',
      'lateen_workqueue_adds_total{controller="fishing"} 4',
      'lateen_workqueue_wait_seconds_count{controller="fishing"} 4',
      'lateen_workqueue_depth{controller="fishing"} 0',
    ]) {
      assert.ok(shown.split('\n').includes(line), `${line} is not in\n${shown}`)
    }
  })
})
