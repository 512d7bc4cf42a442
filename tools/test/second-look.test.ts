import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideSecondLook, tellFailures } from './second-look.ts'

const failing = (...files: string[]) => files.map(file => ({ file, name: `of ${file}` }))

describe('decideSecondLook', () => {
  it('runs two files of real things again, each once', () => {
    const failed = failing('test/cluster/a.test.ts', 'test/compat/b.test.ts', 'test/cluster/a.test.ts')
    assert.deepEqual(decideSecondLook(failed), { files: ['test/cluster/a.test.ts', 'test/compat/b.test.ts'] })
  })

  it('takes three files for a defect', () => {
    const failed = failing('test/cluster/a.test.ts', 'test/cluster/b.test.ts', 'test/cluster/c.test.ts')
    assert.deepEqual(decideSecondLook(failed), { refused: '3 files failed' })
  })

  for (const strict of ['packages/repo/src/a.test.ts', 'test/security/a.test.ts', 'test/lint.test.ts']) {
    it(`forgives nothing in ${strict}, not even beside others`, () => {
      const decided = decideSecondLook(failing('test/cluster/a.test.ts', strict))
      assert.deepEqual(decided, { refused: `nothing outside may disturb ${strict}` })
    })
  }

  it('forgives no run that broke off', () => {
    assert.ok('refused' in decideSecondLook([]))
  })
})

describe('tellFailures', () => {
  it('names each file with what failed in it', () => {
    const failed = [...failing('a', 'b', 'a'), { file: 'a', name: 'more' }]
    assert.equal(tellFailures(failed, ['a', 'b']), '  a\n    ✖ of a\n    ✖ more\n  b\n    ✖ of b\n')
  })
})
