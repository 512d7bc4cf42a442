import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { createArchive } from '../../backup/archive/create-archive.ts'
import { archiveEntries } from './archive-entries.ts'
import { defaultArchiveLimits } from './archive-limits.ts'

const { signal } = new AbortController()

async function archiveOf(t: { after(clean: () => Promise<void>): void }, entries: Record<string, Buffer>) {
  const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-entries-'))
  t.after(() => rm(scratch, { recursive: true }))
  const archive = await createArchive({ scratch, modified: 0, signal })
  for (const [name, content] of Object.entries(entries)) await archive.add(name, content)
  return await archive.finish()
}

describe('the files of an archive', () => {
  it('are read as they were written, in their order', async t => {
    const written: Record<string, Buffer> = {
      'resources/pods/namespaces/a/b.json': Buffer.from('{"x":1}'),
      'empty.json': Buffer.alloc(0),
      [`resources/${'x'.repeat(120)}/cluster/long.json`]: Buffer.alloc(700_000, 'abc,'),
    }
    const archive = await archiveOf(t, written)
    const read = await Array.fromAsync(archiveEntries(archive.open(), signal))
    assert.deepEqual(
      read.map(entry => entry.path),
      ['metadata/version', ...Object.keys(written)],
    )
    for (const { path: name, content } of read.slice(1)) {
      assert.ok(written[name]?.equals(content), name)
    }
  })

  it('are refused when one is larger than it may be', async t => {
    const archive = await archiveOf(t, { large: Buffer.alloc(2000) })
    const limits = { ...defaultArchiveLimits, entryBytes: 1999 }
    await assert.rejects(Array.fromAsync(archiveEntries(archive.open(), signal, limits)), {
      code: 'ARCHIVE_TOO_LARGE',
    })
  })
})
