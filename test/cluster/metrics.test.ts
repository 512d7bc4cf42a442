import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BackupKind } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type ExposedFamily, metricsUntil, readMetrics, valueIn } from './exposed-metrics.ts'
import { Schedules } from './schedules.ts'
import { launchServer, type RunningServer, startServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

describe('metrics of a server', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  const scheduled = async (name: string, spec: object) => {
    const { client, namespace, backups } = scene
    const metadata = { name, namespace, labels: { 'velero.io/schedule-name': 'nightly' } }
    const backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec }
    await client.resource(BackupKind, namespace).create(backup)
    return (await backups.ended(name)).status?.phase
  }

  before(async () => {
    scene = await openServerScene(given.cluster, 'metrics')
    server = await scene.start({ profilerAddress: ':0' })
    await new Schedules(scene.client, scene.namespace).create('nightly', {
      schedule: '0 0 1 1 *',
      skipImmediately: true,
    })
  })
  after(() => scene?.[Symbol.asyncDispose]())

  it('say what the server does beyond what Velero tells', async () => {
    assert.equal(await scheduled('good', { includedNamespaces: [scene.data] }), 'Completed')
    const metrics = await metricsUntil(
      server.url,
      at => at('velero_backup_success_total{schedule="nightly"}') === 1,
    )
    const at = (sample: string) => valueIn(metrics, sample) ?? 0
    const { status } = await scene.backups.get('good')
    assert.equal(at('lateen_backup_processed_items_total'), status?.progress?.itemsBackedUp)
    assert.equal(at('lateen_backups{phase="Completed"}'), 1)
    assert.equal(at('lateen_phase_duration_seconds_count{kind="Backup",phase="InProgress"}'), 1)
    assert.ok(at('lateen_reconcile_total{controller="backup",result="done"}') >= 1)
    assert.ok(at('lateen_workqueue_adds_total{controller="backup"}') >= 1)
    assert.ok(at('lateen_api_requests_total{code="200",verb="list"}') >= 1)
    assert.ok(at('lateen_api_request_duration_seconds_count{verb="watch"}') >= 1)
    assert.ok(at('process_resident_memory_bytes') > 1e7)
    assert.ok(at('nodejs_eventloop_lag_max_seconds') > 0)
    assert.ok(Math.abs(at('process_start_time_seconds') - Date.now() / 1_000) < 3_600)
  })

  it('count the bytes that go to the bucket, and show the size of the archive that is there', async () => {
    const metrics = await readMetrics(server.url)
    const archive = await scene.bucket.read('backups/good/good.tar.gz')
    assert.equal(valueIn(metrics, 'velero_backup_tarball_size_bytes{schedule="nightly"}'), archive.length)
    const written = 'lateen_object_store_bytes_total{direction="written",provider="aws"}'
    assert.ok((valueIn(metrics, written) ?? 0) >= archive.length)
    const puts = 'lateen_object_store_requests_total{operation="put",provider="aws",result="ok"}'
    assert.ok((valueIn(metrics, puts) ?? 0) >= 1)
  })

  it('never hold the name of a backup', async () => {
    const name = 'a-name-that-no-label-holds'
    assert.equal(await scheduled(name, { includedNamespaces: [scene.data] }), 'Completed')
    await metricsUntil(server.url, at => at('velero_backup_success_total{schedule="nightly"}') === 2)
    assert.ok(!(await (await fetch(`${server.url}/metrics`)).text()).includes(name))
  })

  it('tell of failed calls of a store by what went wrong', async () => {
    const { locations } = scene
    const { spec } = await locations.get('default')
    await locations.create('broken', {
      ...spec,
      default: false,
      objectStorage: { bucket: 'no-such-bucket-here' },
    })
    await locations.unavailable('broken')
    const metrics = await readMetrics(server.url)
    const failed = [...(metrics.get('lateen_object_store_requests_total')?.samples.keys() ?? [])]
    assert.ok(
      failed.some(sample => sample.includes('result="NO_BUCKET"')),
      failed.join('\n'),
    )
    await locations.delete('broken')
    const gone = 'velero_backup_location_status_gauge{backup_location_name="broken"}'
    await metricsUntil(server.url, at => at(gone) === undefined)
  })

  it('are not where profiles are', async () => {
    const started = server.log.find(({ msg }) => msg === 'serving profiles')
    assert.equal(started?.host, '127.0.0.1')
    const profiles = `http://127.0.0.1:${started?.port}`
    const profile = (await (await fetch(`${profiles}/debug/cpu?seconds=1`)).json()) as { nodes: unknown[] }
    assert.ok(profile.nodes.length > 1)
    assert.equal((await fetch(`${profiles}/metrics`)).status, 404)
    assert.equal((await fetch(`${server.url}/debug/heap`)).status, 404)
  })

  it('show after a restart what they showed before, but for counters', async () => {
    assert.equal(await scheduled('invalid', { storageLocation: 'nowhere' }), 'FailedValidation')
    const failed = 'velero_backup_validation_failure_total{schedule="nightly"}'
    const before = await metricsUntil(server.url, at => at(failed) === 1)
    assert.equal(await server.stop(), 0)
    server = await scene.start()
    const now = await metricsUntil(
      server.url,
      at =>
        at('velero_backup_location_status_gauge{backup_location_name="default"}') === 1 &&
        at('velero_backup_tarball_size_bytes{schedule="nightly"}') !== undefined,
    )
    const gauges = (families: Map<string, ExposedFamily>) =>
      [...families]
        .filter(([name, { type }]) => type === 'gauge' && name.startsWith('velero_'))
        .flatMap(([, { samples }]) => [...samples].map(pair => pair.join(' ')))
    assert.equal(valueIn(now, 'velero_backup_last_status{schedule="nightly"}'), 0)
    assert.equal(valueIn(now, 'velero_backup_total'), 3)
    assert.deepEqual(gauges(now).toSorted(), gauges(before).toSorted())
    assert.equal(valueIn(now, failed), 0)
  })

  it('count a backup that a server has left behind', async () => {
    assert.equal(await server.stop(), 0)
    const { cluster, namespace } = scene
    const left = {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'left', namespace, labels: { 'velero.io/schedule-name': 'nightly' } },
      spec: { storageLocation: 'default' },
      status: { phase: 'InProgress', startTimestamp: '2026-01-01T00:00:00Z' },
    }
    await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(left) })
    server = await scene.start()
    const failures = 'velero_backup_failure_total{schedule="nightly"}'
    const metrics = await metricsUntil(server.url, at => at(failures) === 1)
    assert.equal(valueIn(metrics, 'velero_backup_attempt_total{schedule="nightly"}'), 0)
    assert.equal(valueIn(metrics, 'velero_backup_last_status{schedule="nightly"}'), 0)
  })

  it('are counted once when two servers take turns', async () => {
    assert.equal(await server.stop(), 0)
    const { cluster, namespace, scratch } = scene
    const kubeconfig = cluster.kubeconfigPath
    const options = { namespace, kubeconfig, scratchFolder: scratch, leaderElection: true }
    await using leader = await startServer(options)
    await using standby = launchServer(options)
    await standby.said('serving http')
    await metricsUntil(standby.url, at => at('velero_backup_total') === 4)
    assert.equal(await scheduled('led', { includedNamespaces: [scene.data] }), 'Completed')
    await metricsUntil(leader.url, at => at('velero_backup_success_total{schedule="nightly"}') === 1)
    const there = await metricsUntil(
      standby.url,
      at => at('velero_backup_last_status{schedule="nightly"}') === 1,
    )
    assert.equal(valueIn(there, 'velero_backup_success_total{schedule="nightly"}'), 0)
    assert.equal(valueIn(there, 'velero_backup_total'), 5)
    assert.equal(valueIn(there, 'lateen_leader'), 0)
  })
})
