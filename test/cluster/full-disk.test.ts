import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { makePluginFolder } from '../compat/plugin-folder.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { Deletions } from './deletions.ts'

const given = await givenCluster({ s3: true })
const skip = given.skip || (process.getuid?.() === 0 ? false : 'only root can mount a small disk')

describe('a server whose disk is full', { skip, concurrency: false }, () => {
  let scene: ServerScene
  let deletions: Deletions
  let disk: string
  const stack = new AsyncDisposableStack()

  before(async () => {
    disk = await mkdtemp(path.join(tmpdir(), 'lateen-disk-'))
    stack.defer(() => rm(disk, { recursive: true, force: true }))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk])
    stack.defer(() => void execFileSync('umount', ['--lazy', disk]))
    const programs = stack.use(await makePluginFolder())
    const command = [process.execPath, path.join(import.meta.dirname, 'deletion-plugin.ts')]
    const env = { DELETION_NOTES: path.join(programs.notes, 'deleted') }
    await programs.launcher('noting', { command, env })
    scene = stack.use(await openServerScene(given.cluster, 'full-disk'))
    deletions = new Deletions(scene)
    await createConfigMaps(scene, { count: 20, bytes: 10_000 })
    await scene.start({ scratchFolder: disk, pluginFolder: programs.path })
    assert.equal((await take('before')).status?.phase, 'Completed')
    await fill()
  })
  after(() => stack.disposeAsync())

  const take = (name: string) => scene.backups.take(name, { includedNamespaces: [scene.data] })
  const filler = () => path.join(disk, 'filler')

  async function fill(): Promise<void> {
    await using file = await open(filler(), 'w')
    for (;;) {
      try {
        await file.write(Buffer.alloc(4096, 1))
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
        return
      }
    }
  }

  it('fails a backup with the reason, and leaves nothing of it in the bucket', async () => {
    const { status } = await take('full')
    assert.equal(status?.phase, 'Failed')
    assert.match(status?.failureReason ?? '', /scratch space is full/)
    const keys = await scene.bucket.keys()
    assert.deepEqual(
      keys.filter(key => key.startsWith('backups/full/') && key.includes('.tar')),
      [],
    )
  })

  it('fails a restore with the reason', async () => {
    const namespaceMapping = { [scene.data]: `${scene.data}-restored` }
    const { status } = await scene.restores.run('full', { backupName: 'before', namespaceMapping })
    assert.equal(status?.phase, 'Failed')
    assert.match(status?.failureReason ?? '', /scratch space is full/)
  })

  it('says why a deletion does not go on, and goes on once there is room', async () => {
    const request = await deletions.request('before')
    const { status } = await deletions.until(request, ({ status: now }) => (now?.errors?.length ?? 0) > 0)
    assert.match(status?.errors?.join() ?? '', /scratch space is full/)
    assert.equal((await scene.backups.get('before')).status?.phase, 'Deleting')
    await rm(filler())
    await deletions.done('before')
    assert.deepEqual(
      (await scene.bucket.keys()).filter(key => key.startsWith('backups/before/')),
      [],
    )
    assert.equal((await take('after')).status?.phase, 'Completed')
  })
})
