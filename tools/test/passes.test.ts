import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passes } from './passes.ts'

describe('passes', () => {
  it('accepts a tool that exits with 0', () => passes('node', ['-e', '']))

  it('puts all output of a failing tool into the message', () =>
    assert.rejects(
      passes('node', ['-e', 'console.log("to out"); console.error("to err"); process.exit(3)']),
      {
        code: 'TOOL_FAILED',
        message: /exited with 3\n[\s\S]*to out[\s\S]*to err/,
      },
    ))

  it('does not take a missing tool for a success', () =>
    assert.rejects(passes('no-such-tool', []), { code: 'ENOENT' }))
})
