import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDockerfile } from './parse-dockerfile.ts'

describe('parseDockerfile', () => {
  it('finds stages and instructions, without comments and over continued lines', () => {
    const text = '# one\nFROM a AS b\nRUN x \\\n  && y\n\n  # two\nfrom scratch\ncopy --from=b / /\n'
    assert.deepEqual(parseDockerfile(text), [
      { from: 'a AS b', instructions: [{ name: 'RUN', text: 'x && y' }] },
      { from: 'scratch', instructions: [{ name: 'COPY', text: '--from=b / /' }] },
    ])
  })

  it('refuses an instruction that belongs to no stage', () => {
    assert.throws(() => parseDockerfile('RUN x\nFROM a\n'), /RUN stands before FROM/)
  })
})
