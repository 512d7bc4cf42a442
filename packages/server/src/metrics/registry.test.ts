import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { counter, gauge, histogram } from './family.ts'
import { createMetricsRegistry } from './registry.ts'

/** What the registry says of itself is left out. */
const shown = (text: string) => text.replace(/^.*lateen_metrics_dropped_total.*\n/gm, '')

describe('a registry of metrics', () => {
  it('writes the text format of Prometheus', () => {
    const registry = createMetricsRegistry()
    const calls = registry.counter(counter('calls_total', 'Calls of C:\\dir\nand more', ['verb', 'code']))
    calls.add({ verb: 'a"b\\c\nd', code: '200' })
    calls.add({ verb: 'get', code: '' }, 2.5)
    registry.gauge(gauge('size', 'A size')).set({}, Number.POSITIVE_INFINITY)
    assert.equal(
      shown(registry.render()),
      [
        '# HELP calls_total Calls of C:\\\\dir\\nand more',
        '# TYPE calls_total counter',
        'calls_total{verb="a\\"b\\\\c\\nd",code="200"} 1',
        'calls_total{verb="get",code=""} 2.5',
        '# HELP size A size',
        '# TYPE size gauge',
        'size +Inf',
        '',
      ].join('\n'),
    )
  })

  it('adds up the buckets of a histogram, a value at a bound included', () => {
    const registry = createMetricsRegistry()
    const took = registry.histogram(
      histogram({ name: 'took', help: 'Time', labels: ['of'], buckets: [1, 5] }),
    )
    for (const value of [0.5, 1, 3, 7]) took.observe({ of: 'x' }, value)
    assert.deepEqual(shown(registry.render()).split('\n').slice(2, -1), [
      'took_bucket{of="x",le="1"} 2',
      'took_bucket{of="x",le="5"} 3',
      'took_bucket{of="x",le="+Inf"} 4',
      'took_sum{of="x"} 11.5',
      'took_count{of="x"} 4',
    ])
  })

  it('keeps no more series than it may, and tells how many updates were dropped', () => {
    const registry = createMetricsRegistry(2)
    const calls = registry.counter(counter('calls_total', 'Calls', ['who']))
    for (const who of ['a', 'b', 'c', 'd', 'a']) calls.add({ who })
    const text = registry.render()
    assert.match(text, /^calls_total\{who="a"\} 2$/m)
    assert.doesNotMatch(text, /who="[cd]"/)
    assert.match(text, /^lateen_metrics_dropped_total\{metric="calls_total"\} 2$/m)
    calls.remove({ who: 'b' })
    calls.add({ who: 'e' })
    assert.match(registry.render(), /^calls_total\{who="e"\} 1$/m)
  })

  it('refuses a name that is taken, and a counter that goes down', () => {
    const registry = createMetricsRegistry()
    const calls = registry.counter(counter('calls_total', 'Calls'))
    assert.throws(() => registry.gauge(gauge('calls_total', 'Others')), RangeError)
    assert.throws(() => calls.add({}, -1), RangeError)
    assert.throws(() => calls.add({}, Number.NaN), RangeError)
  })

  it('looks up what is not kept before it renders', () => {
    const registry = createMetricsRegistry()
    const now = registry.gauge(gauge('now', 'Now'))
    let value = 1
    registry.beforeRender(() => now.set({}, value))
    assert.match(registry.render(), /^now 1$/m)
    value = 7
    assert.match(registry.render(), /^now 7$/m)
  })

  it('raises a gauge and never lowers it, and begins one only once', () => {
    const registry = createMetricsRegistry()
    const last = registry.gauge(gauge('last', 'Last', ['of']))
    last.begin({ of: 'a' }, 5)
    last.begin({ of: 'a' }, 6)
    last.raise({ of: 'a' }, 4)
    assert.match(registry.render(), /^last\{of="a"\} 5$/m)
    last.raise({ of: 'a' }, 9)
    assert.match(registry.render(), /^last\{of="a"\} 9$/m)
  })
})
