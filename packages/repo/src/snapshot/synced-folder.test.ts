import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { SyncedFolder, type Syncfs } from './synced-folder.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'lateen-sync-'))
after(() => rmSync(folder, { recursive: true }))

const { EIO, ENOSYS, EPERM } = constants.errno

/** Of a kernel that gives these answers one after the other. */
function answering(...answers: number[]): Syncfs {
  return async () => answers.shift() ?? 0
}

describe('A folder that is synced', () => {
  it('waits for its file system, and tells what the system call says', async () => {
    const synced = await SyncedFolder.open(folder)
    writeFileSync(path.join(folder, 'file'), 'data')
    await synced.sync()
    synced[Symbol.dispose]()
    await assert.rejects(synced.sync(), { code: 'TARGET_FAILED', message: /EBADF/ })
  })

  it('does not fail for writes of others that failed before', async () => {
    using synced = await SyncedFolder.open(folder, answering(EIO, 0))
    await synced.sync()
  })

  it('names what kept its own writes from the device, and where to look', async () => {
    using synced = await SyncedFolder.open(folder, answering(0, EIO))
    const failed = { code: 'TARGET_FAILED', message: /syncfs: EIO/, hint: /kernel log of the node/ }
    await assert.rejects(synced.sync(), failed)
  })

  it('does with itself where the system call is not allowed or not there', async () => {
    for (const errno of [EPERM, ENOSYS]) {
      using synced = await SyncedFolder.open(folder, answering(errno, errno))
      await synced.sync()
    }
  })

  it('may be in a file system that syncs no folders', { skip: process.platform !== 'linux' }, async () => {
    using synced = await SyncedFolder.open('/proc/self', answering(EPERM, EPERM))
    await synced.sync()
  })

  it('must be there', async () => {
    await assert.rejects(SyncedFolder.open(path.join(folder, 'absent')), { code: 'ENOENT' })
  })
})
