import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serverFlags } from '../tree/server.ts'
import { keptArguments } from './kept-arguments.ts'
import { serverFlagNames } from './workload-arguments.ts'

function kept(...earlier: string[]) {
  return keptArguments(earlier, { flags: serverFlags, decided: serverFlagNames })
}

describe('keptArguments', () => {
  it('keeps what the server knows and no flag of install decides', () => {
    assert.deepEqual(kept('--log-level=debug', '--default-backup-ttl', '100h', '--prefer-external-plugins'), {
      kept: ['--log-level=debug', '--default-backup-ttl', '100h', '--prefer-external-plugins'],
      dropped: [],
    })
  })

  it('lets flags of install decide', () => {
    assert.deepEqual(
      kept('--features=', '--uploader-type=restic', '--restore-only', '--concurrent-backups', '3'),
      {
        kept: [],
        dropped: [],
      },
    )
  })

  it('drops what the server does not know, with its value, and values that it cannot read', () => {
    assert.deepEqual(
      kept('--maintenance-job-cpu-limit', '1', '-v', '--log-level=loud', '--log-format=json'),
      {
        kept: ['--log-format=json'],
        dropped: ['--maintenance-job-cpu-limit', '1', '-v', '--log-level=loud'],
      },
    )
  })
})
