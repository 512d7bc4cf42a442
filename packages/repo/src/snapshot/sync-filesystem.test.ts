import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, it } from 'node:test'
import { syncFilesystem } from './sync-filesystem.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'lateen-sync-'))
after(() => rmSync(folder, { recursive: true }))

it('waits for the file system of a folder, and an error of it is not swallowed', async () => {
  writeFileSync(path.join(folder, 'file'), 'data')
  const fd = openSync(folder, 'r')
  await syncFilesystem(fd)
  closeSync(fd)
  await assert.rejects(syncFilesystem(fd), { code: 'EBADF' })
})
