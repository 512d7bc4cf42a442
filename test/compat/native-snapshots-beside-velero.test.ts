import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Backup, BackupSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { startVeleroServer, type VeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation, credentialsIn } from '../cluster/backups.ts'
import { Restores } from '../cluster/restores.ts'
import {
  createFolderVolumes,
  createPluginProgram,
  type SnapshotCall,
  snapshotCalls,
  snapshotLocation,
  volumeName,
} from '../cluster/snapshot-scene.ts'
import {
  Locations,
  prepareCluster,
  type RunningServer,
  startServer,
} from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'
import { bothPrograms } from './both-programs.ts'
import { deploymentOfServer } from './plugin-scene.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true, own: true })
const skip = missing || given.skip
const programs = await bothPrograms(given)
const namespace = 'velero'
const data = 'snapshotted'
const plugin = path.join(import.meta.dirname, '../cluster/snapshot-plugin.ts')
const sets = ['good', 'bad'] as const
type SetName = (typeof sets)[number]
type Who = 'ours' | 'theirs'

// One after the other on the same cluster, bucket and plugin: first our server, then Velero, then ours again.
describe('native snapshots of ours and of Velero, by one plugin', { skip, concurrency: false }, () => {
  let client: KubeClient
  let backups: Backups
  let restores: Restores
  let bucket: BackupBucket
  let velero: VeleroServer | undefined
  let folder = ''
  let program = ''
  const scene = new AsyncDisposableStack()
  const at = (...names: string[]) => path.join(folder, ...names)

  before(async () => {
    const { cluster } = given
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-both-snapshots-'))
    scene.defer(() => rm(folder, { recursive: true, force: true }))
    process.env.AWS_SHARED_CREDENTIALS_FILE = at('credentials')
    await writeFile(at('credentials'), credentialsIn(cluster))
    program = await createPluginProgram(at('plugins'), plugin)
    await mkdir(at('progress'))
    await prepareCluster(cluster, namespace)
    await cluster.kubectl(['create', 'namespace', data])
    client = scene.use(
      await createKubeClient({ config: await loadKubeConfig({ path: cluster.kubeconfigPath }) }),
    )
    backups = new Backups(client, namespace)
    restores = new Restores(client, namespace)
    bucket = scene.use(new BackupBucket(cluster, namespace))
    await createLocation({ cluster, client, namespace }, { prefix: namespace, secret: false })
    const locations = ['recording', 'second'].map(name =>
      snapshotLocation(name, namespace, {
        provider: `example.com/${name}`,
        config: { path: folder, owns: name, ...(name === 'recording' && { iops: '250' }) },
      }),
    )
    const items = [...locations, deploymentOfServer]
    await cluster.kubectl(['create', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })
    const of = (set: SetName) => ({ labels: { set } })
    await createFolderVolumes({ cluster, folder, namespace: data }, [
      { name: 'tagged', ...of('good'), storage: 'recording', zone: 'zone-a' },
      { name: 'others', ...of('good'), storage: 'second' },
      { name: 'stranger', ...of('good') },
      ...['getvolumeid', 'getvolumeinfo', 'createsnapshot'].map(call => ({
        name: `fails-${call}`,
        ...of('bad'),
        storage: 'recording',
      })),
    ])
  })

  after(() => scene.disposeAsync())

  const startOurs = async (): Promise<RunningServer> => {
    const kubeconfig = given.cluster.kubeconfigPath
    const server = scene.use(await startServer({ namespace, kubeconfig, pluginFolder: at('plugins') }))
    await new Locations(client, namespace).available('default')
    return server
  }
  const specOf = (set: SetName): BackupSpec => ({
    includedNamespaces: [data],
    labelSelector: { matchLabels: { set } },
    volumeSnapshotLocations: ['recording', 'second'],
  })
  const taken: Partial<Record<`${Who}-${SetName}`, Backup>> = {}
  const takeAll = async (who: Who) => {
    for (const set of sets) taken[`${who}-${set}`] = await backups.take(`${who}-${set}`, specOf(set))
  }

  /** A file of a backup without what is different for every backup, in an order of its own. */
  async function comparable(who: Who, set: SetName, file: string): Promise<unknown[]> {
    const name = `${who}-${set}`
    const content = JSON.stringify(await bucket.readJson(name, file))
    const uid = taken[name as `${Who}-${SetName}`]?.metadata.uid ?? ''
    const list: object[] = JSON.parse(content.replaceAll(uid, 'UID').replaceAll(name, 'BACKUP')) ?? []
    const key = (entry: object) =>
      /"(?:pvName|persistentVolumeName)":"[^"]*"/.exec(JSON.stringify(entry))?.[0] ?? ''
    return list.toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
  }

  const asked = (calls: readonly SnapshotCall[], who: Who) =>
    calls
      .filter(({ call }) => call === 'createSnapshot')
      .map(call => JSON.stringify(call))
      .filter(text => text.includes(`"${who}-`))
      .map(text => JSON.parse(text.replaceAll(`"${who}-`, '"')))
      .toSorted((one, other) => (one.volumeId < other.volumeId ? -1 : 1))

  it('are taken by our server, then by Velero', async () => {
    const server = await startOurs()
    await takeAll('ours')
    assert.equal(await server.stop(), 0)
    velero = scene.use(
      await startVeleroServer({
        cluster: given.cluster,
        namespace,
        plugins: [program],
        flags: ['--client-qps=1000', '--client-burst=2000'],
      }),
    )
    await takeAll('theirs')
    const lines = velero.log.filter(line => /level=error/.test(line) && /theirs-good/.test(line))
    assert.deepEqual(lines, [])
    assert.equal(taken['ours-good']?.status?.phase, 'Completed', JSON.stringify(taken['ours-good']?.status))
    assert.equal(taken['ours-bad']?.status?.phase, 'PartiallyFailed')
  })

  for (const set of sets) {
    it(`are counted alike, with as many errors and warnings: ${set}`, () => {
      const counts = ({ status = {} }: Partial<Backup> = {}) => {
        const { phase, errors, warnings, volumeSnapshotsAttempted, volumeSnapshotsCompleted = 0 } = status
        // Velero asks locations in any order, and warns of as many as say no before one says yes.
        const known = set === 'good' ? { errors, warnings } : { errors }
        return { phase, ...known, volumeSnapshotsAttempted, volumeSnapshotsCompleted }
      }
      assert.deepEqual(counts(taken[`ours-${set}`]), counts(taken[`theirs-${set}`]))
    })

    for (const file of ['-volumesnapshots.json.gz', '-volumeinfo.json.gz']) {
      it(`are described alike in ${file}: ${set}`, async () => {
        const theirs = await comparable('theirs', set, file)
        assert.deepEqual(await comparable('ours', set, file), theirs)
        assert.ok(theirs.length > 0)
      })
    }
  }

  it('are asked for with the same volume, zone and tags', async () => {
    const calls = await snapshotCalls(folder)
    assert.deepEqual(asked(calls, 'ours'), asked(calls, 'theirs'))
    assert.equal(asked(calls, 'ours').length, 3)
  })

  /** Restores a backup into a namespace and returns what the volume of the claim holds. */
  async function restoredPage(backupName: string, target: string): Promise<string> {
    await rm(at('restored'), { recursive: true, force: true })
    const { status } = await restores.run(target, { backupName, namespaceMapping: { [data]: target } })
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    const claim = ['get', 'pvc', 'tagged', '--namespace', target, '-o', 'jsonpath={.spec.volumeName}']
    const name = await given.cluster.kubectl(claim)
    assert.match(name, /^velero-clone-/)
    const folderOf = ['get', 'pv', name, '-o', 'jsonpath={.spec.hostPath.path}']
    return readFile(path.join(await given.cluster.kubectl(folderOf), 'page'), 'utf8')
  }
  const restoredInfo = async (restore: string) => {
    const bytes = await bucket.read(`restores/${restore}/${restore}-volumeinfo.json.gz`)
    const infos = JSON.parse(gunzipSync(bytes).toString()) as {
      pvcName?: string
      nativeSnapshotInfo?: { snapshotHandle?: string }
    }[]
    const infosOf = infos.map(({ nativeSnapshotInfo, ...rest }) => ({
      ...{ ...rest, pvName: 'some', pvcName: undefined, pvcNamespace: undefined },
      nativeSnapshotInfo: {
        ...nativeSnapshotInfo,
        snapshotHandle: nativeSnapshotInfo?.snapshotHandle?.replace(/^(ours|theirs)/, ''),
      },
    }))
    const key = (info: (typeof infosOf)[number]) => info.nativeSnapshotInfo.snapshotHandle ?? ''
    return infosOf.toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
  }

  it('that we took are described and restored by Velero', async () => {
    const args = [
      '--namespace',
      namespace,
      'backup',
      'describe',
      'ours-good',
      '--details',
      '--colorized=false',
    ]
    const stdout = await programs.run('velero', args)
    assert.equal(await programs.run('lateen', args), stdout)
    const name = volumeName({ namespace: data }, 'tagged')
    const shown = new RegExp(
      `Velero-Native Snapshots:[^]*${name}:\\n\\s+Snapshot ID:\\s+ours-good-tagged\\n\\s+Type:\\s+recorded`,
    )
    assert.match(stdout, shown)
    assert.match(stdout, new RegExp(`Operation for persistentvolumes.* ?/?${name}:`))
    assert.equal(await restoredPage('ours-good', 'by-velero'), 'the page of tagged')
    await velero?.stop()
  })

  it('that Velero took are restored by us, and the files of both restores say the same', async () => {
    await startOurs()
    const mapping = ['--namespace-mappings', `${data}:by-lateen`]
    const plan = ['--namespace', namespace, 'restore', 'plan', '--from-backup', 'theirs-good', ...mapping]
    assert.match(await programs.run('lateen', plan), /persistentvolume/i)
    assert.equal(await restoredPage('theirs-good', 'by-lateen'), 'the page of tagged')
    assert.deepEqual(await restoredInfo('by-lateen'), await restoredInfo('by-velero'))
  })
})
