import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { findDifferences } from '../tools/gen/generated-files.ts'
import { generators } from '../tools/gen/generators.ts'

const root = join(import.meta.dirname, '..')

describe('generated files', () => {
  for (const generator of generators) {
    it(`in the tree are what the generator of ${generator.name} says; npm run gen brings them up to date`, async () => {
      const wanted = await generator.generate()
      assert.ok(wanted.size > 0)
      assert.deepEqual(await findDifferences(root, [generator]), [])
    })
  }
})
