import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { filesOfIndex } from './lazy-indexes.ts'

describe('filesOfIndex', () => {
  it('finds values with their files and names, and leaves types out', () => {
    const index = [
      "export { one, type Two, three as four } from './a.ts'",
      "export type { Five } from './b.ts'",
      'export {',
      '  six,',
      '  type Seven,',
      "} from './c/d.ts'",
    ].join('\n')
    assert.deepEqual(
      [...filesOfIndex(index)],
      [
        ['one', { file: './a.ts', name: 'one' }],
        ['four', { file: './a.ts', name: 'three' }],
        ['six', { file: './c/d.ts', name: 'six' }],
      ],
    )
  })
})
