import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { markRestored } from './completion-mark.ts'

const uid = '6f1c4a52-0000-4000-8000-1234567890ab'

describe('The mark of a restored volume', () => {
  let volume: string
  beforeEach(async () => {
    volume = await mkdtemp(path.join(os.tmpdir(), 'lateen-mark-'))
  })
  afterEach(() => rm(volume, { recursive: true }))

  const names = () => readdir(volume, { recursive: true })
  const failing = (code: string, from: string) => async (folder: string) => {
    if (folder === from) throw Object.assign(new Error(code), { code })
  }

  it('is the only one, in a folder from which everybody may take it', async () => {
    await mkdir(path.join(volume, '.velero'))
    await writeFile(path.join(volume, '.velero', 'earlier'), '')
    await markRestored(volume, uid)
    assert.deepEqual((await names()).sort(), ['.velero', path.join('.velero', uid)])
    assert.equal((await stat(path.join(volume, '.velero'))).mode & 0o777, 0o777)
  })

  it('is not lost with its folder when the node fails after it was seen', async () => {
    const synced: [folder: string, there: string[]][] = []
    await markRestored(volume, uid, async folder => {
      synced.push([path.relative(volume, folder), await names()])
    })
    assert.deepEqual(synced, [
      ['', ['.velero']],
      ['.velero', ['.velero', path.join('.velero', uid)]],
    ])
  })

  it('is not there where the device did not take its folder', async () => {
    await assert.rejects(markRestored(volume, uid, failing('EIO', volume)), { code: 'EIO' })
    assert.deepEqual(await names(), ['.velero'])
    await assert.rejects(markRestored(volume, uid, failing('EIO', path.join(volume, '.velero'))), {
      code: 'EIO',
    })
  })

  it('may be taken away as soon as it is there', () =>
    markRestored(volume, uid, failing('ENOENT', path.join(volume, '.velero'))))
})
