import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'
import { isEnded } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

/** Nobody goes on with backups, restores and deletions. */
const idle = {
  disabledControllers: [
    ...['backup', 'backup-queue', 'backup-finalizer', 'backup-operations', 'backup-deletion', 'backup-sync'],
    ...['restore', 'restore-finalizer', 'restore-operations', 'gc'],
  ],
}

interface Finding {
  type: string
  subject: string
  problem: string
  since?: string
  mend: string
}

describe('lateen doctor', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer

  before(async () => {
    scene = await openServerScene(given.cluster, 'doctor')
    await createConfigMaps(scene, { count: 2, bytes: 10 })
    server = await scene.start()
    const spec = { includedNamespaces: [scene.data] }
    assert.equal((await scene.backups.take('good', spec)).status?.phase, 'Completed')
    await scene.restores.create('again', { backupName: 'good' })
    assert.equal((await scene.restores.until('again', isEnded)).status?.phase, 'Completed')
  })
  after(() => scene?.[Symbol.asyncDispose]())

  const doctor = (...args: string[]): Promise<Ended> => lateen(['-n', scene.namespace, 'doctor', ...args])

  async function findings(...args: string[]): Promise<Finding[]> {
    const { status, stdout, stderr } = await doctor('-o', 'json', ...args)
    assert.equal(stderr, '')
    const found: Finding[] = JSON.parse(stdout).findings
    assert.equal(status, found.length > 0 ? 1 : 0)
    return found
  }

  const named = (found: readonly Finding[]) =>
    found.map(({ type, subject }) => `${type} ${subject}`).sort(byText)
  const byText = (a: string, b: string) => (a < b ? -1 : 1)
  const inBucket = (key: string) => `${scene.namespace}/${key} in location default`

  it('finds nothing after a backup and a restore', async () => {
    assert.deepEqual(await findings('--older-than=0s'), [])
    const { status, stdout } = await doctor()
    assert.equal(stdout, 'Nothing is stuck, and nothing is left over.\n')
    assert.equal(status, 0)
  })

  it('finds keys and snapshots that nothing refers to, once they are old', async () => {
    const snapshots = [
      { spec: { location: 'east' }, status: { providerSnapshotID: 'snap-1', phase: 'Completed' } },
    ]
    const files: Record<string, Buffer> = {
      'backups/half/half.tar.gz': Buffer.from('x'),
      'backups/half/half-volumesnapshots.json.gz': gzipSync(JSON.stringify(snapshots)),
      'backups/README': Buffer.from('x'),
      'backups/good/lateen-operations/backup/00000001.json': Buffer.from('{}'),
      'restores/unknown/restore-unknown-logs.gz': Buffer.from('x'),
    }
    for (const [key, body] of Object.entries(files)) await scene.bucket.write(key, body)
    assert.deepEqual(await findings(), [])
    const found = await findings('--older-than=0s')
    assert.deepEqual(named(found), [
      `journal ${inBucket('backups/good/lateen-operations/backup/')}`,
      `restore-files ${inBucket('restores/unknown/')}`,
      'snapshot Snapshot east/snap-1',
      `stray-key ${inBucket('backups/README')}`,
      `unfinished-backup ${inBucket('backups/half/')}`,
    ])
    const half = found.find(({ type }) => type === 'unfinished-backup')
    const { bucket, endpoint } = given.cluster.s3
    const target = `s3://${bucket}/${scene.namespace}/backups/half/`
    assert.equal(half?.mend, `aws s3 rm ${target} --recursive --endpoint-url ${endpoint}`)
    assert.deepEqual(named(await findings('--older-than=0s', '--ignore=journal,stray-key,snapshot')), [
      `restore-files ${inBucket('restores/unknown/')}`,
      `unfinished-backup ${inBucket('backups/half/')}`,
    ])
  })

  it('remembers how long they are there, and the server tells of the old ones', async () => {
    const map = ['configmap', 'lateen-watchdog', '-n', scene.namespace]
    const { data } = JSON.parse(await given.cluster.kubectl(['get', ...map, '-o', 'json']))
    const old = data.default.replace(/"firstSeen":"[^"]+"/g, '"firstSeen":"2026-01-01T00:00:00Z"')
    const patch = JSON.stringify({ data: { default: old } })
    await given.cluster.kubectl(['patch', ...map, '--type=merge', '-p', patch])
    const found = await findings('--ignore=restore-files')
    assert.equal(found.length, 4)
    for (const { since } of found) assert.equal(since, '2026-01-01T00:00:00Z')
    const { status, stdout } = await doctor()
    assert.equal(status, 1)
    assert.match(
      stdout,
      /half\/ in location default has no velero-backup\.json .*, since 2026-01-01 00:00:00 \+0000 UTC\n/,
    )
    assert.match(stdout, /\n5 findings\. Nothing was changed/)
    assert.match(await eventOf('BackupStorageLocation', 'default', 'UnclaimedKeys'), /backups\/half\//)
    const metric = 'lateen_stuck_objects{kind="BucketFolder",phase="unfinished-backup"} 1'
    assert.ok((await metrics()).includes(metric))
  })

  it('finds nothing any more once they are gone', async () => {
    for (const key of [
      'backups/half',
      'backups/README',
      'backups/good/lateen-operations',
      'restores/unknown',
    ]) {
      await scene.bucket.delete(key)
    }
    assert.deepEqual(await findings('--older-than=0s'), [])
    const metric = 'lateen_stuck_objects{kind="BucketFolder",phase="unfinished-backup"} 0'
    // The server answers before it tells of what it found.
    await untilSeen(metric, async () => (await metrics()).includes(metric))
  })

  it('finds nothing after a backup with a restore was deleted, nor does somebody who lists the bucket', async () => {
    const before = await scene.bucket.keys()
    await scene.backups.take('short', { includedNamespaces: [scene.data] })
    await scene.restores.create('brief', { backupName: 'short' })
    await scene.restores.until('brief', isEnded)
    assert.notDeepEqual(await scene.bucket.keys(), before)
    const { status, stderr } = await lateen(['-n', scene.namespace, 'backup', 'delete', 'short', '--confirm'])
    assert.equal(status, 0, stderr)
    await waitUntil(
      async () => (await scene.backups.list()).every(({ metadata }) => metadata.name !== 'short'),
      {
        timeoutMs: 120_000,
        failure: () => new Error('the backup stays'),
      },
    )
    assert.deepEqual(await findings('--older-than=0s'), [])
    assert.deepEqual(await scene.bucket.keys(), before)
  })

  it('says that nobody looked through the bucket when no server runs', async () => {
    await server.stop()
    const [only, ...more] = await findings('--timeout=1s')
    assert.deepEqual(more, [])
    assert.equal(only?.type, 'not-examined')
    assert.match(only?.problem ?? '', /no Lateen server answered in time/)
    assert.deepEqual(await findings('--timeout=1s', '--ignore=not-examined'), [])
    const { status, stderr } = await doctor('--ignore=nonsense')
    assert.equal(status, 1)
    assert.match(stderr, /--ignore knows stuck, .*, and not "nonsense"/)
  })

  it('finds objects that are stuck or belong to nothing, and the server tells of them', async () => {
    const startTimestamp = '2026-01-01T00:00:00Z'
    await apply('Backup', 'slow', {
      spec: { storageLocation: 'default' },
      status: { phase: 'InProgress', startTimestamp },
    })
    await apply('Backup', 'half-gone', {
      spec: { storageLocation: 'default' },
      status: { phase: 'Deleting', startTimestamp },
    })
    await apply('Backup', 'elsewhere', {
      spec: { storageLocation: 'nowhere' },
      status: { phase: 'Completed', startTimestamp },
    })
    await apply('Restore', 'orphan', {
      spec: { backupName: 'gone' },
      status: { phase: 'Finalizing', startTimestamp },
    })
    await apply('DataUpload', 'still', {
      apiVersion: 'velero.io/v2alpha1',
      spec: {
        ...{ snapshotType: 'CSI', sourcePVC: 'claim', sourceNamespace: scene.data },
        ...{ backupStorageLocation: 'default', operationTimeout: '10m0s' },
      },
      status: { phase: 'InProgress', startTimestamp },
    })
    server = await scene.start(idle)
    const found = await findings()
    assert.deepEqual(
      found.map(({ subject, mend }) => `${subject}: ${mend}`).sort(byText),
      [
        'Backup half-gone: lateen backup delete half-gone --confirm',
        'Backup slow: lateen backup cancel slow --confirm',
        'Restore orphan: lateen restore cancel orphan --confirm',
        'Restore orphan: lateen restore delete orphan --confirm',
        `Backup elsewhere: kubectl delete backups.velero.io elsewhere --namespace ${scene.namespace}`,
        `DataUpload still: kubectl patch datauploads.velero.io still --namespace ${scene.namespace} --type merge --patch '{"spec":{"cancel":true}}'`,
      ].sort(byText),
    )
    assert.match(
      await eventOf('Backup', 'slow', 'Stuck'),
      /^It is InProgress for longer than 24h, since 2026-01-01/,
    )
    assert.match(await eventOf('Restore', 'orphan', 'Stuck'), /^It is Finalizing for longer than 28h/)
    const lines = await metrics()
    assert.ok(lines.includes('lateen_stuck_objects{kind="Backup",phase="InProgress"} 1'))
    assert.ok(lines.includes('lateen_stuck_objects{kind="Restore",phase="Finalizing"} 1'))
    assert.ok(lines.includes('lateen_stuck_objects{kind="DataUpload",phase="InProgress"} 1'))
    // Of a deletion that nobody requests it tells when it has seen that twice, a minute apart.
    const told = server.log.filter(({ msg, name }) => msg === 'an object is stuck' && name !== 'half-gone')
    assert.deepEqual(told.map(({ name }) => String(name)).sort(byText), ['orphan', 'slow', 'still'])
  })

  async function apply(
    kind: string,
    name: string,
    parts: { apiVersion?: string; spec: object; status: object },
  ): Promise<void> {
    const metadata = { name, namespace: scene.namespace }
    const stdin = JSON.stringify({ apiVersion: 'velero.io/v1', kind, metadata, ...parts })
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin })
  }

  async function metrics(): Promise<string[]> {
    return (await (await fetch(`${server.url}/metrics`)).text()).split('\n')
  }

  function eventOf(kind: string, name: string, reason: string): Promise<string> {
    const fields = `involvedObject.kind=${kind},involvedObject.name=${name},reason=${reason}`
    const args = ['get', 'events', '-n', scene.namespace, `--field-selector=${fields}`, '-o', 'json']
    return waitUntil(
      async () => JSON.parse(await given.cluster.kubectl(args)).items[0]?.message as string | undefined,
      { timeoutMs: 60_000, failure: () => new Error(`no event about ${kind} ${name}`) },
    )
  }
})
