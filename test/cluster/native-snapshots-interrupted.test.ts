import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { BackupSpec } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import {
  createFolderVolumes,
  createPluginProgram,
  type FolderPlace,
  hasSettled,
  snapshotCalls,
  snapshotLocation,
} from './snapshot-scene.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const plugin = path.join(import.meta.dirname, 'snapshot-plugin.ts')

describe('native snapshots of backups that are broken off', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let folder = ''
  const at = (...names: string[]) => path.join(folder, ...names)
  const chosen = (test: string): BackupSpec => ({
    includedNamespaces: [scene.data],
    labelSelector: { matchLabels: { test } },
  })
  const start = async () => {
    server = await scene.start({ pluginFolder: at('plugins'), itemOperationSyncFrequency: 300 })
  }

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-broken-off-'))
    scene = await openServerScene(given.cluster, 'snapshots-broken-off')
    await createPluginProgram(at('plugins'), plugin)
    await mkdir(at('progress'))
    const config = { path: folder, owns: 'recording' }
    const location = snapshotLocation('recording', scene.namespace, {
      provider: 'example.com/recording',
      config,
    })
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(location) })
    const place: FolderPlace = { cluster: given.cluster, folder, namespace: scene.data }
    await createFolderVolumes(
      place,
      ['before', 'hangs', 'slow', 'slow-deleted'].map(name => ({
        name,
        labels: { test: name === 'before' ? 'hangs' : name },
        storage: 'recording',
      })),
    )
    await start()
  })

  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'pv', '-l', `example.com/of=${scene.data}`, '--wait=false'])
    await rm(folder, { recursive: true, force: true })
  })

  const calls = async (call: string, backup: string) =>
    (await snapshotCalls(folder)).filter(
      each =>
        each.call === call &&
        (String(each.snapshotId).startsWith(`${backup}-`) ||
          (each.tags as Record<string, string> | undefined)?.['velero.io/backup'] === backup),
    )
  const until = (what: string, isSo: () => Promise<boolean>) =>
    waitUntil(isSo, { timeoutMs: 120_000, failure: () => new Error(`never: ${what}`), everyMs: 50 })
  const snapshotsLeft = async (backup: string) =>
    (await readdir(at('snapshots'))).filter(name => name.startsWith(`${backup}-`))

  /** Begins a backup with one snapshot in the journal, and another one that does not come to an end. */
  async function beginStuck(name: string): Promise<void> {
    const orderedResources = { persistentvolumeclaims: `${scene.data}/before,${scene.data}/hangs` }
    await scene.backups.create(name, { ...chosen('hangs'), orderedResources })
    await until('two snapshots are begun', async () => (await calls('createSnapshot', name)).length === 2)
    assert.deepEqual(await snapshotsLeft(name), [`${name}-before`])
  }

  async function requireGone(name: string): Promise<void> {
    assert.deepEqual(await snapshotsLeft(name), [])
    assert.equal((await scene.bucket.files()).get(name), undefined)
  }

  it('are deleted by the next server when theirs was killed', async () => {
    await beginStuck('killed')
    await server.kill()
    await start()
    const { status } = await scene.backups.until('killed', hasSettled)
    assert.equal(status?.phase, 'Failed', JSON.stringify(status))
    // A second attempt to remove what is left begins with that again.
    assert.ok((await calls('cancel', 'killed')).length >= 1)
    await requireGone('killed')
  })

  it('are deleted when somebody cancels the backup', async () => {
    await beginStuck('cancelled')
    const annotate = ['annotate', 'backups.velero.io', 'cancelled', '--namespace', scene.namespace]
    await given.cluster.kubectl([...annotate, 'lateen.dev/cancel=true'])
    const { status } = await scene.backups.until('cancelled', hasSettled)
    assert.deepEqual([status?.phase, status?.failureReason], ['Failed', 'cancelled by request'])
    await requireGone('cancelled')
  })

  it('are deleted when somebody cancels the backup, although cancelling them hangs, and then the rest goes', async () => {
    await writeFile(at('cancel-hangs'), '')
    await beginStuck('unanswered')
    const annotate = ['annotate', 'backups.velero.io', 'unanswered', '--namespace', scene.namespace]
    await given.cluster.kubectl([...annotate, 'lateen.dev/cancel=true'])
    await until('the snapshot is deleted', async () => (await snapshotsLeft('unanswered')).length === 0)
    assert.ok((await calls('cancel', 'unanswered')).length > 0, 'nobody has cancelled it')
    await rm(at('cancel-hangs'))
    const { status } = await scene.backups.until('unanswered', hasSettled)
    assert.deepEqual([status?.phase, status?.failureReason], ['Failed', 'cancelled by request'])
    await requireGone('unanswered')
  })

  it('are stopped and deleted when somebody deletes the backup that waits for them', async () => {
    await scene.backups.create('deleted', chosen('slow-deleted'))
    await scene.backups.until('deleted', ({ status }) => status?.phase === 'WaitingForPluginOperations')
    await scene.backups.delete('deleted')
    await until('the files are gone', async () => (await scene.bucket.files()).get('deleted') === undefined)
    assert.ok((await calls('cancel', 'deleted')).length > 0)
    await requireGone('deleted')
  })

  it('are waited for by the next server when theirs was killed meanwhile', async () => {
    await scene.backups.create('slow', chosen('slow'))
    await scene.backups.until('slow', ({ status }) => status?.phase === 'WaitingForPluginOperations')
    await server.kill()
    await writeFile(at('progress/slow'), JSON.stringify({ completed: true }))
    await start()
    const { status } = await scene.backups.ended('slow')
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.deepEqual(await snapshotsLeft('slow'), ['slow-slow'])
  })
})
