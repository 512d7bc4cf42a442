import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { BackupArchive } from '../restore/archive/backup-archive.ts'
import { openBackupArchive } from '../restore/archive/open-backup-archive.ts'
import { rawEntry, tarEnd, versionEntry } from '../restore/archive/testing/raw-tar.ts'
import { diffArchives } from './diff-archives.ts'

const { signal } = new AbortController()

/** An archive with ConfigMaps of the namespace `n`, by name; texts are stored as they are. */
async function givenArchive(
  t: TestContext,
  objects: Record<string, object | string>,
): Promise<BackupArchive> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-diff-'))
  t.after(() => rm(scratch, { recursive: true }))
  const entries = Object.entries(objects).map(([name, fields]) => {
    const metadata = { namespace: 'n', name, resourceVersion: `${Math.random()}`, uid: `${Math.random()}` }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...Object(fields) }
    const content = typeof fields === 'string' ? fields : JSON.stringify(object)
    return rawEntry({ path: `resources/configmaps/namespaces/n/${name}.json`, content })
  })
  const stream = Readable.from([gzipSync(Buffer.concat([versionEntry, ...entries, tarEnd]))])
  const archive = await openBackupArchive({ stream, scratch, signal })
  t.after(() => archive[Symbol.asyncDispose]())
  return archive
}

describe('diffArchives', () => {
  it('tells what was added, removed and changed, and not what changes by itself', async t => {
    const before = await givenArchive(t, { a: { data: { v: '1' } }, b: {}, c: { status: { x: 1 } } })
    const after = await givenArchive(t, { a: { data: { v: '2' } }, c: { status: { x: 2 } }, d: {} })
    const found = await Array.fromAsync(diffArchives(before, after, { withStatus: false, signal }))
    assert.deepEqual(
      found.map(({ change, name }) => `${change} ${name}`),
      ['changed a', 'removed b', 'added d'],
    )
    const withStatus = await Array.fromAsync(diffArchives(before, after, { withStatus: true, signal }))
    assert.deepEqual(
      withStatus.map(({ change, name }) => `${change} ${name}`),
      ['changed a', 'removed b', 'changed c', 'added d'],
    )
  })

  it('names an object that is damaged', async t => {
    const before = await givenArchive(t, { a: {} })
    for (const text of ['{"kind":', '[]', '{"metadata":1}']) {
      const after = await givenArchive(t, { a: text })
      await assert.rejects(
        Array.fromAsync(diffArchives(before, after, { withStatus: false, signal })),
        /^UnreadableObjectError: configmaps n\/a cannot be read: /,
      )
    }
  })
})
