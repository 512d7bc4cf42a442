import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { foreignProgram, programProblem } from './executable-format.ts'

describe('The first bytes of a file', () => {
  it('tell a script by the line that names its interpreter', () => {
    assert.equal(programProblem(Buffer.from('#!/bin/sh\n'), 'x64'), undefined)
    for (const text of ['', 'echo hello\n', 'echo #!/bin/sh']) {
      assert.match(programProblem(Buffer.from(text), 'x64') ?? '', /neither a binary nor a script/)
    }
  })

  it('tell a binary of this processor from one of another', {
    skip: process.platform !== 'linux',
  }, async () => {
    await using file = await open(process.execPath)
    const { buffer } = await file.read(Buffer.alloc(64), 0, 64, 0)
    assert.equal(programProblem(buffer, process.arch), undefined)
    assert.equal(programProblem(buffer, process.arch === 's390x' ? 'x64' : 's390x'), foreignProgram)
    assert.equal(programProblem(buffer.subarray(0, 10), process.arch), foreignProgram)
  })

  it('tell nothing about other binaries and files that cannot be read: the system will', () => {
    assert.equal(programProblem(Buffer.from('MZ\0\0'), 'x64'), undefined)
    assert.equal(programProblem(undefined, 'x64'), undefined)
    assert.equal(programProblem(Buffer.from('\u007fELF\0\0'), 'some-new-processor'), undefined)
  })
})
