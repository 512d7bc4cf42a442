import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BackupKind, type BackupSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { freePort } from '../../tools/test/free-port.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { Deletions } from '../cluster/deletions.ts'
import {
  type ExposedFamily,
  labelNamesOf,
  metricsUntil,
  readMetrics,
  valueIn,
} from '../cluster/exposed-metrics.ts'
import { Restores } from '../cluster/restores.ts'
import { Schedules } from '../cluster/schedules.ts'
import { createFolderVolumes, createPluginProgram, snapshotLocation } from '../cluster/snapshot-scene.ts'
import { installKinds, Locations, startServer } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'
import { deploymentOfServer } from './plugin-scene.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true })
const skip = missing || given.skip
const plugin = path.join(import.meta.dirname, '../cluster/snapshot-plugin.ts')
const data = `metrics-data-${process.pid}`

interface Side {
  who: 'ours' | 'theirs'
  namespace: string
  /** Where `/metrics` is. */
  url: string
}

/** What the clock, the machine or how often someone looks decides, and not what was done. */
const notDetermined = [
  'velero_backup_last_successful_timestamp',
  'velero_backup_tarball_size_bytes',
  // Velero looks once a minute.
  'velero_backup_total',
  'velero_restore_total',
]

/**
 * Velero counts these before it writes the phase that they are about, and may then see the object once more as it
 * was before: its count can be higher than what was done.
 */
const countedAgain =
  /^velero_(backup_(success_total|partial_failure_total|validation_failure_total|duration_seconds_(bucket|count))|restore_(attempt|success|validation_failed)_total)\{/

/** What is done below, without a schedule and with one. */
const done: Record<string, readonly [number, number]> = {
  velero_backup_success_total: [1, 1],
  velero_backup_partial_failure_total: [1, 0],
  velero_backup_validation_failure_total: [1, 0],
  velero_backup_duration_seconds_count: [2, 1],
  velero_restore_attempt_total: [2, 1],
  velero_restore_success_total: [1, 1],
  velero_restore_validation_failed_total: [1, 0],
}

describe('metrics of ours and of Velero after the same things were done', {
  skip,
  concurrency: false,
}, () => {
  const scene = new AsyncDisposableStack()
  let client: KubeClient
  let sides: Side[] = []
  let folder = ''

  before(async () => {
    const { cluster } = given
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-metrics-'))
    scene.defer(() => rm(folder, { recursive: true, force: true }))
    client = scene.use(
      await createKubeClient({ config: await loadKubeConfig({ path: cluster.kubeconfigPath }) }),
    )
    await installKinds(cluster)
    const program = await createPluginProgram(path.join(folder, 'plugins'), plugin)
    await cluster.kubectl(['create', 'namespace', data])
    scene.defer(async () => void (await cluster.kubectl(['delete', 'namespace', data, '--wait=false'])))
    await createFolderVolumes({ cluster, folder, namespace: data }, [
      { name: 'good', labels: { set: 'good' }, storage: 'recording' },
      { name: 'fails-createsnapshot', labels: { set: 'bad' }, storage: 'recording' },
    ])
    const names = { ours: `metrics-ours-${process.pid}`, theirs: `metrics-theirs-${process.pid}` }
    await prepareNamespace(names.ours, true)
    await prepareNamespace(names.theirs, false)
    const port = await freePort()
    const theirs = await startVeleroServer({
      cluster,
      namespace: names.theirs,
      flags: [
        ...['--metrics-address', `127.0.0.1:${port}`, '--client-qps=1000', '--client-burst=2000'],
        // It shows what a validation has found when it comes to the next one.
        '--store-validation-frequency=1s',
      ],
      plugins: [program],
    })
    scene.use(theirs)
    const ours = await startServer({
      namespace: names.ours,
      kubeconfig: cluster.kubeconfigPath,
      pluginFolder: path.join(folder, 'plugins'),
    })
    scene.use(ours)
    sides = [
      { who: 'ours', namespace: names.ours, url: ours.url },
      { who: 'theirs', namespace: names.theirs, url: `http://127.0.0.1:${port}` },
    ]
    for (const { namespace } of sides) await new Locations(client, namespace).available('default')
  })

  after(() => scene.disposeAsync())

  async function prepareNamespace(namespace: string, secret: boolean): Promise<void> {
    const { cluster } = given
    await cluster.kubectl(['create', 'namespace', namespace])
    scene.defer(async () => void (await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])))
    await createLocation({ cluster, client, namespace }, { prefix: namespace, secret })
    await new Locations(client, namespace).create('broken', {
      provider: 'aws',
      objectStorage: { bucket: 'there-is-no-such-bucket' },
      config: { region: 'none', s3ForcePathStyle: 'true', s3Url: cluster.s3.endpoint },
    })
    // Each has its own: backups of the same name have snapshots of the same name.
    const snapshots = path.join(folder, namespace)
    await mkdir(snapshots)
    const items = [
      snapshotLocation('recording', namespace, {
        provider: 'example.com/recording',
        config: { path: snapshots, owns: 'recording' },
      }),
      { ...deploymentOfServer, metadata: { name: 'velero', namespace } },
    ]
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await cluster.kubectl(['create', '-f', '-'], { stdin })
  }

  const each = (work: (side: Side) => Promise<unknown>) => Promise.all(sides.map(work))
  const [ours, theirs] = [() => shown('ours'), () => shown('theirs')]
  const shown = (who: Side['who']) => readMetrics(sides.find(side => side.who === who)?.url ?? '')
  const takeBackup = async (
    { namespace }: Side,
    name: string,
    { spec, schedule }: { spec: BackupSpec; schedule?: string },
  ) => {
    const labels = schedule === undefined ? {} : { 'velero.io/schedule-name': schedule }
    const metadata = { name, namespace, labels }
    const object = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec }
    await client.resource(BackupKind, namespace).create(object)
    return (await new Backups(client, namespace).ended(name)).status?.phase
  }
  const specOf = (set: string): BackupSpec => ({
    includedNamespaces: [data],
    labelSelector: { matchLabels: { set } },
    volumeSnapshotLocations: ['recording'],
  })

  it('begin with the same series for backups without a schedule, all at zero', async () => {
    await each(({ url }) => metricsUntil(url, at => at('velero_backup_attempt_total{schedule=""}') === 0))
    compareSamples(await ours(), await theirs(), sample => sample.includes('schedule=""'))
  })

  it('have the same series for a schedule from the beginning', async () => {
    await each(async ({ namespace, url }) => {
      const schedules = new Schedules(client, namespace)
      await schedules.create('nightly', { schedule: '0 0 1 1 *', skipImmediately: true })
      await schedules.until('nightly', ({ status }) => status?.phase === 'Enabled')
      await metricsUntil(url, at => at('velero_backup_attempt_total{schedule="nightly"}') === 0)
    })
    compareSamples(await ours(), await theirs(), sample => sample.includes('schedule="nightly"'))
  })

  it('count backups, snapshots, restores and deletions alike', async () => {
    await each(async side => {
      const { namespace } = side
      assert.equal(await takeBackup(side, 'bad', { spec: specOf('bad') }), 'PartiallyFailed', side.who)
      const nowhere = { spec: { storageLocation: 'nowhere' } }
      assert.equal(await takeBackup(side, 'invalid', nowhere), 'FailedValidation', side.who)
      assert.equal(await takeBackup(side, 'good', { spec: specOf('good') }), 'Completed', side.who)
      const scheduled = { spec: specOf('good'), schedule: 'nightly' }
      assert.equal(await takeBackup(side, 'nightly-1', scheduled), 'Completed', side.who)
      const restores = new Restores(client, namespace)
      const mapped = { namespaceMapping: { [data]: `${namespace}-restored` }, restorePVs: false }
      for (const backupName of ['good', 'nightly-1', 'missing']) {
        await restores.run(`from-${backupName}`, { backupName, ...mapped })
      }
      const deletions = new Deletions({ client, namespace, backups: new Backups(client, namespace) })
      assert.equal((await deletions.refused(await deletions.request('missing'))).length, 1)
      await deletions.request('good')
      await deletions.done('good')
    })
    await each(({ url }) =>
      metricsUntil(url, at => at('velero_backup_deletion_success_total{schedule=""}') === 1),
    )
    const [mine, other] = [await ours(), await theirs()]
    const isOfSchedule = (sample: string) => /schedule="(nightly)?"/.test(sample)
    compareSamples(mine, other, isOfSchedule)
    for (const [name, counts] of Object.entries(done)) {
      const samples = ['', 'nightly'].map(schedule => `${name}{schedule="${schedule}"}`)
      assert.deepEqual(
        samples.map(sample => valueIn(mine, sample)),
        counts,
        name,
      )
    }
    for (const sample of [...mine.values()].flatMap(({ samples }) => [...samples.keys()])) {
      if (!countedAgain.test(sample) || !isOfSchedule(sample)) continue
      assert.ok(Number(valueIn(other, sample)) >= Number(valueIn(mine, sample)), sample)
    }
  })

  it('show which locations are available', async () => {
    await each(({ url }) => {
      const status = (name: string) => `velero_backup_location_status_gauge{backup_location_name="${name}"}`
      return metricsUntil(url, at => at(status('broken')) === 0 && at(status('default')) === 1)
    })
    compareSamples(await ours(), await theirs(), sample => sample.includes('backup_location_name='))
  })

  it('have families of the same names, types, help and labels', async () => {
    const [mine, other] = [await ours(), await theirs()]
    const names = [...other.keys()].filter(name => name.startsWith('velero_'))
    assert.ok(names.length >= 29, names.join())
    for (const name of names) {
      const [one, two] = [mine.get(name), other.get(name)]
      assert.deepEqual([one?.type, one?.help], [two?.type, two?.help], name)
      assert.deepEqual(labelsOf(one), labelsOf(two), name)
    }
  })

  it('forget a schedule that is deleted', async () => {
    await each(async ({ namespace, url }) => {
      await new Schedules(client, namespace).delete('nightly')
      await metricsUntil(url, at => at('velero_backup_attempt_total{schedule="nightly"}') === undefined)
    })
    const left = [...(await ours()).values()].flatMap(({ samples }) => [...samples.keys()])
    assert.deepEqual(
      left.filter(sample => sample.includes('nightly')),
      [],
    )
  })
})

function labelsOf(family: ExposedFamily | undefined): string[] {
  return [...new Set([...(family?.samples.keys() ?? [])].flatMap(labelNamesOf))].toSorted()
}

/** Asserts that both show the same samples of Velero's families, and the same values where those are determined. */
function compareSamples(
  ours: Map<string, ExposedFamily>,
  theirs: Map<string, ExposedFamily>,
  wanted: (sample: string) => boolean,
): void {
  const of = (families: Map<string, ExposedFamily>) => {
    const found = [...families].filter(([name]) => name.startsWith('velero_'))
    const samples = found.flatMap(([name, family]) =>
      [...family.samples].map(([sample, value]) => {
        // Seconds differ; in which bucket they are does not, for none takes a minute.
        const open = notDetermined.includes(name) || countedAgain.test(sample) || /_seconds_sum/.test(sample)
        return `${sample} ${open ? 'some' : value}`
      }),
    )
    return samples.filter(wanted).toSorted()
  }
  const expected = of(theirs)
  assert.notEqual(expected.length, 0)
  assert.deepEqual(of(ours), expected)
}
