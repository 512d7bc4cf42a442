import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { registerLateenMetrics } from '../packages/server/src/metrics/lateen-metrics.ts'
import { registerDataMoveMetrics } from '../packages/server/src/metrics/observe-data-moves.ts'
import { registerVolumeMoveMetrics } from '../packages/server/src/metrics/observe-pod-volumes.ts'
import { registerPodVolumeMetrics } from '../packages/server/src/metrics/pod-volume-metrics.ts'
import { createMetricsRegistry } from '../packages/server/src/metrics/registry.ts'
import { createStuckGauge } from '../packages/server/src/metrics/stuck-gauge.ts'
import { registerVeleroMetrics } from '../packages/server/src/metrics/velero-metrics.ts'

const file = (name: string) => readFile(path.resolve(import.meta.dirname, '..', name), 'utf8')

/** Names in a text, those that are written `…_end` in full: they go on where the one before them ends differently. */
function namesIn(text: string): Set<string> {
  const names = new Set<string>()
  let last = ''
  for (const [, name = ''] of text.matchAll(/`((?:velero|lateen|podVolume)_\w+|…_\w+)`/g)) {
    const full = name.startsWith('…') ? last.replace(/_(?:attempt|success)_total$/, '') + name.slice(1) : name
    if (!name.startsWith('…')) last = name
    names.add(full)
  }
  return names
}

describe('rules and dashboard', () => {
  it('take no increase of series that come with their last value', async () => {
    for (const name of ['deploy/prometheus/rules.yaml', 'deploy/grafana/lateen.json']) {
      assert.doesNotMatch(await file(name), /(increase|rate)\(\s*velero_csi_snapshot_/, name)
    }
  })
})

describe('docs/monitoring.md', () => {
  it('tells of every metric of the server and of node agents, and of no other', async () => {
    const registry = createMetricsRegistry()
    registerVeleroMetrics(registry)
    registerLateenMetrics(registry)
    createStuckGauge(registry)
    registerPodVolumeMetrics(registry)
    registerVolumeMoveMetrics(registry)
    registerDataMoveMetrics(registry)
    const shown = new Set(['lateen_leader', ...registry.families.map(({ name }) => name)])
    const told = namesIn(await file('docs/monitoring.md'))
    assert.deepEqual(
      [...shown].filter(name => !told.has(name)),
      [],
      'not told of',
    )
    assert.deepEqual(
      [...told].filter(name => !shown.has(name) && !name.endsWith('_')),
      [],
      'not shown',
    )
  })

  it('says of every alert what to do', async () => {
    const rules = await file('deploy/prometheus/rules.yaml')
    const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name)
    const told = [...(await file('docs/monitoring.md')).matchAll(/`(Lateen\w+)`/g)].map(
      ([, name = '']) => name,
    )
    assert.deepEqual(new Set(told), new Set(alerts))
  })
})
