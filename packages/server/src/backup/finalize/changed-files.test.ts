import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type ArchiveEntry, ChangedFiles } from './changed-files.ts'

async function givenScratch(t: TestContext): Promise<string> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-changed-'))
  t.after(() => rm(scratch, { recursive: true }))
  return scratch
}

async function* entriesOf(files: Record<string, string>): AsyncGenerator<ArchiveEntry> {
  for (const [name, text] of Object.entries(files)) yield { path: name, content: Buffer.from(text) }
}

async function merged(changed: ChangedFiles, files: Record<string, string>): Promise<[string, string][]> {
  const written: [string, string][] = []
  await changed.merge(entriesOf(files), {
    add: async (name, content) => void written.push([name, Buffer.from(content).toString()]),
  })
  return written
}

describe('files that changed', () => {
  const before = { 'metadata/version': '1.1.0\n', a: 'old a', b: 'old b', c: 'old c' }

  it('take the place of those before, and new ones come last', async t => {
    await using changed = await ChangedFiles.create(await givenScratch(t))
    await changed.add('b', Buffer.from('new b'))
    await changed.add('z', Buffer.from('new z'))
    assert.deepEqual(await merged(changed, before), [
      ['a', 'old a'],
      ['b', 'new b'],
      ['c', 'old c'],
      ['z', 'new z'],
    ])
  })

  it('give the same archive when they are merged into the result once more', async t => {
    await using changed = await ChangedFiles.create(await givenScratch(t))
    await changed.add('z', Buffer.from('new z'))
    await changed.add('b', Buffer.from('new b'))
    const once = await merged(changed, before)
    assert.deepEqual(await merged(changed, Object.fromEntries(once)), once)
  })

  it('leave nothing in scratch', async t => {
    const scratch = await givenScratch(t)
    {
      await using changed = await ChangedFiles.create(scratch)
      await changed.add('large', Buffer.alloc(3_000_000))
      assert.equal(changed.size, 1)
    }
    assert.deepEqual(await readdir(scratch), [])
  })
})
