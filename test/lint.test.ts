import { describe, it } from 'node:test'
import { passes } from '../tools/test/passes.ts'

describe('lint', () => {
  it('biome finds nothing to fix in the tree', () =>
    passes('biome', ['check', '--error-on-warnings', '--max-diagnostics=none', '--colors=off', '.']))
})
