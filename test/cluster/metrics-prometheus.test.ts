import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { CommandError, runCommand } from '../../tools/binaries/run-command.ts'
import { tools } from '../../tools/binaries/tool.ts'
import { ToolError } from '../../tools/binaries/tool-error.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { type Prometheus, startPrometheus } from '../../tools/prometheus/prometheus.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { parseMetrics } from './exposed-metrics.ts'
import { Schedules } from './schedules.ts'
import type { RunningServer } from './storage-location-harness.ts'

const deploy = path.resolve(import.meta.dirname, '../../deploy')
const rulesFile = path.join(deploy, 'prometheus/rules.yaml')
const dashboardFile = path.join(deploy, 'grafana/lateen.json')

const programs = await tools(['prometheus', 'promtool']).catch((error: unknown) => {
  if (error instanceof ToolError) return error
  throw error
})
const given = await givenCluster({ s3: true })
const skip = programs instanceof ToolError ? programs.message : given.skip
const promtool = programs instanceof ToolError ? '' : programs.promtool

describe('a real Prometheus', { skip, concurrency: false }, () => {
  let folder = ''
  let scene: ServerScene
  let server: RunningServer
  let prometheus: Prometheus
  const things = new AsyncDisposableStack()

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-rules-'))
    things.defer(() => rm(folder, { recursive: true, force: true }))
    scene = things.use(await openServerScene(given.cluster, 'metrics-prometheus'))
    server = things.use(await scene.start({ storeValidationFrequency: 500 }))
    await new Schedules(scene.client, scene.namespace).create('nightly', {
      schedule: '0 0 1 1 *',
      skipImmediately: true,
    })
    assert.equal(
      (await scene.backups.take('one', { includedNamespaces: [scene.data] })).status?.phase,
      'Completed',
    )
    assert.equal((await scene.restores.run('back', { backupName: 'one' })).status?.phase, 'Completed')
    prometheus = things.use(
      await startPrometheus({
        targets: [new URL(server.url).host],
        rules: [rulesFile, await hastyRules()],
      }),
    )
  })
  after(() => things.disposeAsync())

  /** The same alerts, under other names, which fire after a second. */
  async function hastyRules(): Promise<string> {
    const rules = await readFile(rulesFile, 'utf8')
    const hasty = rules
      .replace('name: lateen', 'name: hasty')
      .replaceAll(/alert: Lateen/g, 'alert: Hasty')
      .replaceAll(/for: \w+/g, 'for: 1s')
    const file = path.join(folder, 'hasty.yaml')
    await writeFile(file, hasty)
    return file
  }

  const exposed = async () => (await fetch(`${server.url}/metrics`)).text()

  it('finds nothing wrong with what the server shows, but for names that are Velero’s', async () => {
    const complaints = await checkMetrics(await exposed())
    assert.deepEqual(
      complaints.filter(line => !line.startsWith('velero_')),
      [],
    )
    assert.notDeepEqual(await checkMetrics('# TYPE a counter\na 1\n'), [], 'promtool complains of nothing')
  })

  it('evaluates every alert against the server', async () => {
    const rules = await waitUntil(
      async () => {
        const loaded = await prometheus.rules()
        return loaded.every(({ health }) => health !== 'unknown') ? loaded : undefined
      },
      { timeoutMs: 60_000, failure: () => new Error('the rules are not evaluated') },
    )
    assert.ok(rules.length >= 30)
    for (const { name, health, lastError } of rules) assert.equal(health, 'ok', `${name}: ${lastError}`)
    const families = parseMetrics(await exposed())
    for (const { name, query } of rules) {
      for (const metric of metricsIn(query)) assert.ok(families.has(metric), `${name} asks for ${metric}`)
    }
  })

  it('answers every query of the dashboard, of metrics that the server shows', async () => {
    const families = parseMetrics(await exposed())
    const expressions = await dashboardExpressions()
    assert.ok(expressions.length > 40)
    for (const expression of expressions) {
      const metrics = metricsIn(expression)
      assert.ok(metrics.length > 0, expression)
      for (const metric of metrics) assert.ok(families.has(metric), `${expression} asks for ${metric}`)
      await prometheus.query(expression)
    }
  })

  it('has the server’s values', async () => {
    const [backups] = await waitUntil(
      async () => {
        const found = await prometheus.query('velero_backup_success_total{schedule=""}')
        return found.length > 0 && found
      },
      { timeoutMs: 60_000, failure: () => new Error('nothing was scraped') },
    )
    assert.equal(backups?.value[1], '1')
  })

  it('fires an alert for a location that becomes unavailable, and no longer when it is mended', async () => {
    const alert = async () =>
      (await prometheus.alerts()).find(
        ({ labels }) =>
          labels.alertname === 'HastyBackupLocationUnavailable' && labels.backup_location_name === 'default',
      )
    assert.equal(await alert(), undefined)
    const { spec } = await scene.locations.get('default')
    const broken = { objectStorage: { ...spec.objectStorage, bucket: 'there-is-no-such-bucket' } }
    await scene.locations.patch('default', broken)
    const firing = await waitUntil(async () => (await alert())?.state === 'firing' && alert(), {
      timeoutMs: 60_000,
      failure: async () => new Error(`it does not fire: ${JSON.stringify(await prometheus.alerts())}`),
    })
    assert.equal(firing.annotations.summary, 'Location default is unavailable')
    assert.equal(firing.labels.severity, 'critical')
    await scene.locations.patch('default', { objectStorage: spec.objectStorage })
    await waitUntil(async () => (await alert()) === undefined, {
      timeoutMs: 60_000,
      failure: () => new Error('it fires although the location is available'),
    })
  })

  it('finds alerts pending and firing as long as they say', async () => {
    await writeFile(path.join(folder, 'tests.yaml'), JSON.stringify(ruleTests))
    await runCommand(promtool, ['test', 'rules', path.join(folder, 'tests.yaml')])
  })
})

/** What `promtool check metrics` complains of. */
async function checkMetrics(text: string): Promise<string[]> {
  try {
    await runCommand(promtool, ['check', 'metrics'], { stdin: text })
    return []
  } catch (error) {
    // 3: it could be read, but could be better.
    if (!(error instanceof CommandError) || error.exitCode !== 3) throw error
    return error.stderr.trim().split('\n')
  }
}

const withoutMetric = new Set(['by', 'on', 'unless', 'and', 'or'])

/** The families that an expression asks for. */
function metricsIn(expression: string): string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '').replaceAll(/\b(by|on) \([^)]*\)/g, '')
  const names = [...bare.matchAll(/\b[a-z]\w*_\w+\b(?!\s*\()/g)].map(([name]) => name)
  return names
    .filter(name => !withoutMetric.has(name) && /^(velero|lateen|process|nodejs)_/.test(name))
    .map(name => name.replace(/(_seconds)_(bucket|sum|count)$/, '$1'))
}

interface Panel {
  targets?: { expr: string }[]
}

/** Every query, with the dashboard's variables as Grafana fills them in. */
async function dashboardExpressions(): Promise<string[]> {
  const { panels }: { panels: Panel[] } = JSON.parse(await readFile(dashboardFile, 'utf8'))
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const values: Record<string, string> = { $job: '.*', $schedule: '.*', $__rate_interval: '4m' }
  return expressions.map(expression =>
    expression.replaceAll(/\$\w+/g, name => {
      const value = values[name]
      assert.ok(value !== undefined, `the dashboard has no variable ${name}: ${expression}`)
      return value
    }),
  )
}

/** What alerts are at a time: `firing`, `pending`, or nothing. */
function expected(time: string, states: Record<string, 'firing' | 'pending' | undefined>): object[] {
  return Object.entries(states).flatMap(([name, state]) =>
    ['firing', 'pending'].map(each => ({
      eval_time: time,
      expr: `count(ALERTS{alertname="${name}",alertstate="${each}"})`,
      exp_samples: each === state ? [{ labels: '{}', value: 1 }] : [],
    })),
  )
}

/** A minute between values. */
const story = {
  velero_backup_total: '0x3000',
  'velero_backup_location_status_gauge{backup_location_name="a"}': '1 0x20 1x3000',
  // Another replica leads from the 20th minute on.
  'lateen_leader{instance="a"}': '1x10 0x3000',
  'lateen_leader{instance="b"}': '0x20 1x3000',
  'velero_backup_failure_total{schedule="s"}': '0x2 1x3000',
  'velero_backup_partial_failure_total{schedule="s"}': '0x3000',
  'velero_backup_validation_failure_total{schedule="s"}': '0x3000',
  'velero_backup_last_status{schedule="s"}': '1x2 0x30 1x3000',
  // In seconds, as time() is: at first one day before, in the 1,500th minute 25 hours.
  'velero_backup_last_successful_timestamp{schedule="s"}': '0x3000',
  'velero_backup_last_status{schedule="never"}': '1x3000',
  'lateen_stuck_objects{kind="Backup",phase="New"}': '0 2x3000',
  'velero_repo_maintenance_failure_total{repository_name="r"}': '0x100 1x100 2x2800',
  'velero_volume_snapshot_failure_total{schedule="s"}': '0x3000',
  // Of a backup that ended in the 200th minute, beside the series that the schedule has from its beginning.
  'velero_csi_snapshot_failure_total{schedule="s",backupName=""}': '0x3000',
  'velero_csi_snapshot_failure_total{schedule="s",backupName="s-1"}': '_x200 2x2800',
}

const ruleTests = {
  rule_files: [rulesFile],
  evaluation_interval: '1m',
  tests: [
    {
      interval: '1m',
      input_series: Object.entries(story).map(([series, values]) => ({ series, values })),
      promql_expr_test: [
        ...expected('1m', { LateenBackupLocationUnavailable: 'pending', LateenServerDown: undefined }),
        ...expected('7m', { LateenBackupLocationUnavailable: 'firing', LateenNoLeader: undefined }),
        ...expected('12m', { LateenNoLeader: 'pending', LateenLastBackupFailed: 'firing' }),
        ...expected('17m', { LateenNoLeader: 'firing', LateenStuckObjects: 'pending' }),
        ...expected('25m', { LateenNoLeader: undefined, LateenBackupLocationUnavailable: undefined }),
        ...expected('30m', { LateenBackupFailed: 'firing' }),
        ...expected('40m', { LateenStuckObjects: 'firing', LateenLastBackupFailed: undefined }),
        ...expected('2h', { LateenBackupFailed: undefined, LateenNoRecentBackup: undefined }),
        ...expected('190m', {
          LateenVolumeSnapshotFailed: undefined,
          LateenRepositoryMaintenanceFailed: undefined,
        }),
        ...expected('210m', {
          LateenVolumeSnapshotFailed: 'firing',
          LateenRepositoryMaintenanceFailed: 'firing',
        }),
        ...expected('5h', { LateenVolumeSnapshotFailed: undefined }),
        ...expected('24h', { LateenNeverBackedUp: 'pending', LateenNoRecentBackup: undefined }),
        ...expected('1510m', { LateenNeverBackedUp: 'firing', LateenNoRecentBackup: 'firing' }),
      ],
    },
    {
      interval: '1m',
      input_series: [{ series: 'something_else', values: '1x60' }],
      promql_expr_test: [
        ...expected('5m', { LateenServerDown: 'pending' }),
        ...expected('15m', { LateenServerDown: 'firing' }),
      ],
    },
  ],
}
