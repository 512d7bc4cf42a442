import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { syncFolder } from './sync-folder.ts'

describe('A folder whose names are to be on the device', () => {
  it('must be there', async t => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-sync-'))
    t.after(() => rm(folder, { recursive: true }))
    await syncFolder(folder)
    await assert.rejects(syncFolder(path.join(folder, 'absent')), { code: 'ENOENT' })
  })

  it('may be in a file system that syncs none', { skip: process.platform !== 'linux' }, () =>
    syncFolder('/proc/self'),
  )
})
