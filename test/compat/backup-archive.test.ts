import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createArchive } from '../../packages/server/src/backup/archive/create-archive.ts'

const run = promisify(execFile)
const env = { ...process.env, LC_ALL: 'C.UTF-8' }

const names = [
  'resources/clusterroles.rbac.authorization.k8s.io/cluster/system:node é 😀.json',
  `resources/${'x'.repeat(60)}/cluster/${'y'.repeat(90)}.json`,
  `resources/configmaps/namespaces/${'n'.repeat(63)}/${'m'.repeat(240)}.json`,
  `resources/${'g'.repeat(180)}/cluster/a.json`,
  'resources/roles/cluster/with space and "quotes".json',
]

describe('GNU tar and gzip', () => {
  it('read an archive of ours: every name, every content, no complaint', async () => {
    const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-archive-'))
    try {
      await using archive = await createArchive({
        scratch,
        modified: Date.UTC(2025, 0, 1),
        signal: new AbortController().signal,
      })
      for (const name of names) await archive.add(name, Buffer.alloc(300_000, name))
      const { path: file } = await archive.finish()
      await run('gzip', ['--test', file])
      const listed = await run('tar', ['-tzf', file, '--quoting-style=literal'], { env })
      assert.deepEqual(listed.stdout.trimEnd().split('\n'), ['metadata/version', ...names])
      const extracted = await run('tar', ['-xzf', file, '-C', scratch], { env })
      assert.equal(listed.stderr + extracted.stderr, '')
      for (const name of names) {
        assert.ok((await readFile(path.join(scratch, name))).equals(Buffer.alloc(300_000, name)), name)
      }
    } finally {
      await rm(scratch, { recursive: true })
    }
  })
})
