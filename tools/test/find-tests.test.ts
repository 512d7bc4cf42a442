import assert from 'node:assert/strict'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { findTests, needsRealThings } from './find-tests.ts'

const files = [
  'bench/kube/rows.test.ts',
  'packages/api/src/deep/a.test.ts',
  'packages/api/src/a.ts',
  'packages/api/node_modules/x/src/b.test.ts',
  'test/cluster/deep/c.test.ts',
  'test/compat/d.test.ts',
  'test/layers.test.ts',
  'test/security/f.test.ts',
  'tools/x/e.test.ts',
]

async function inTree<T>(use: (root: string) => Promise<T>): Promise<T> {
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-find-tests-'))
  for (const file of files) {
    await mkdir(path.join(folder.path, path.dirname(file)), { recursive: true })
    await writeFile(path.join(folder.path, file), '')
  }
  return await use(folder.path)
}

describe('findTests', () => {
  it('finds what needs nothing but Node for a unit run', async () => {
    const found = await inTree(root => findTests(root, { unit: true, only: [] }))
    assert.deepEqual(found, [
      'bench/kube/rows.test.ts',
      'packages/api/src/deep/a.test.ts',
      'test/layers.test.ts',
      'tools/x/e.test.ts',
    ])
    assert.ok(!found.some(needsRealThings))
  })

  it('adds the tests against real things for a full run, in front', async () => {
    const found = await inTree(root => findTests(root, { unit: false, only: [] }))
    const real = ['test/cluster/deep/c.test.ts', 'test/compat/d.test.ts', 'test/security/f.test.ts']
    assert.deepEqual(found.slice(0, 3), real)
    assert.ok(real.every(needsRealThings))
    assert.equal(found.length, 7)
  })

  it('keeps the files that contain one of the given parts', async () => {
    const found = await inTree(root => findTests(root, { unit: false, only: ['compat/', 'api/'] }))
    assert.deepEqual(found, ['test/compat/d.test.ts', 'packages/api/src/deep/a.test.ts'])
  })
})
