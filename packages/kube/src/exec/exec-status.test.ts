import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KubeError } from '../errors.ts'
import { exitCodeOf } from './exec-status.ts'

describe('The status of a command', () => {
  it('is 0 after success and the exit code after failure', () => {
    assert.equal(exitCodeOf({ status: 'Success' }, 'exec'), 0)
    const causes = [{ reason: 'ExitCode', message: '42' }]
    assert.equal(
      exitCodeOf({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes } }, 'exec'),
      42,
    )
  })

  it('is an error with the reason when the command did not start', () => {
    const status = { status: 'Failure', reason: 'InternalError', message: 'no such file' } as const
    assert.throws(
      () => exitCodeOf(status, 'get pods/exec "p"'),
      (error: KubeError) =>
        error instanceof KubeError && /get pods\/exec "p": no such file/.test(error.message),
    )
  })
})
