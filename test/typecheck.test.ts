import { describe, it } from 'node:test'
import { passes } from '../tools/test/passes.ts'

describe('typecheck', () => {
  it('tsc accepts the whole workspace', () => passes('tsc', ['-p', '.', '--pretty', 'false']))
})
