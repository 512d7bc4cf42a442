import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { findTests } from '../test/find-tests.ts'
import { soakPlans } from './plan.ts'

const root = path.join(import.meta.dirname, '..', '..')
const tests = await findTests(root, { unit: false, only: [] })

describe('the soak plans', () => {
  for (const { name, files } of soakPlans) {
    it(`${name} finds each of its test files`, () => {
      for (const file of files)
        assert.ok(
          tests.some(test => test.includes(file)),
          file,
        )
    })
  }

  it('have names of their own', () => {
    assert.equal(new Set(soakPlans.map(({ name }) => name)).size, soakPlans.length)
  })

  it('cover every test file that draws seeds', async () => {
    const seeded: string[] = []
    for (const test of tests) {
      const source = await readFile(path.join(root, test), 'utf8')
      if (/\brotatingSeeds\(|\bprocess\.env\.LATEEN_SOAK/.test(source)) seeded.push(test)
    }
    const covered = soakPlans.flatMap(({ files }) => files)
    assert.deepEqual(
      seeded.filter(test => !covered.some(part => test.includes(part))),
      [],
    )
  })
})
