import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { resticError } from './restic-error.ts'

const failed = (stderr: string, exitCode = 1) =>
  resticError({ command: 'snapshots', repository: '/r', exitCode, stderr })

describe('the error for a failed restic', () => {
  it('has the code that its last words stand for', () => {
    const said: Record<string, string> = {
      'Fatal: wrong password or no key found': 'BAD_PASSWORD',
      'Fatal: unable to open config file: stat /r/config: no such file or directory\nIs there a repository at the following location?\n/r':
        'NOT_A_REPOSITORY',
      'Fatal: create repository at /r failed: config file already exists': 'ALREADY_EXISTS',
      'Fatal: unable to create lock in backend: repository is already locked by PID 1': 'LOCKED',
      'Fatal: failed to find snapshot: no matching ID found for prefix "zz"': 'MANIFEST_NOT_FOUND',
      'Fatal: repository contains errors': 'CORRUPT',
      'Save(<data/1>) returned error: write: no space left on device': 'STORAGE_FULL',
      'panic: something else': 'TOOL_FAILED',
    }
    for (const [stderr, code] of Object.entries(said)) assert.equal(failed(stderr).code, code, stderr)
  })

  it('goes by the exit code where newer versions have one', () => {
    assert.equal(failed('', 10).code, 'NOT_A_REPOSITORY')
    assert.equal(failed('', 11).code, 'LOCKED')
    assert.equal(failed('', 12).code, 'BAD_PASSWORD')
  })

  it('says the fatal line, or the last one, or the exit code', () => {
    assert.equal(failed('warning\nFatal: no luck\nmore\n').message, 'restic snapshots of /r failed: no luck')
    assert.equal(failed('a\nb\n\n').message, 'restic snapshots of /r failed: b')
    assert.equal(failed('').message, 'restic snapshots of /r failed: exit code 1')
  })

  it('says what killed it', () => {
    const killed = { command: 'restore', repository: '/r', exitCode: null, signal: 'SIGKILL', stderr: 'half' }
    assert.equal(resticError(killed).message, 'restic restore of /r failed: it was killed by SIGKILL')
  })

  it('names the first of the errors that a restore only counts in the end', () => {
    const error = failed(
      'ignoring error for /big: write /v/big: no space left on device\nignoring error for /b: no\nFatal: There were 2 errors\n\n',
    )
    assert.equal(error.code, 'STORAGE_FULL')
    assert.match(error.message, /There were 2 errors, the first of them \/big: write .*no space left/)
  })
})
