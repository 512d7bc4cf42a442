import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  resticEnvironment,
  resticGlobalArguments,
  resticSnapshotId,
  resticTagArguments,
} from './restic-repository.ts'

const settings = { binary: 'restic', env: { HOME: '/h' } }

describe('the command line of restic', () => {
  it('never holds the password', () => {
    const repo = { repository: '/r', password: 'secret', env: { AWS_ACCESS_KEY_ID: 'a' } }
    assert.deepEqual(resticGlobalArguments(settings, repo), ['--no-cache'])
    assert.deepEqual(resticEnvironment(settings, repo), {
      HOME: '/h',
      AWS_ACCESS_KEY_ID: 'a',
      RESTIC_REPOSITORY: '/r',
      RESTIC_PASSWORD: 'secret',
    })
    assert.equal(
      resticEnvironment(settings, { repository: '/r', password: { file: '/f' } }).RESTIC_PASSWORD_FILE,
      '/f',
    )
  })

  it('names cache and certificate where they are given', () => {
    assert.deepEqual(
      resticGlobalArguments(
        { ...settings, cacheFolder: '/c' },
        { repository: '/r', password: 'p', caCertificateFile: '/ca', insecureTls: true },
      ),
      ['--cache-dir', '/c', '--cacert', '/ca', '--insecure-tls'],
    )
  })

  it('makes no lock where nothing may be written', () => {
    const repo = { repository: '/r', password: 'p', readOnly: true }
    assert.deepEqual(resticGlobalArguments(settings, repo), ['--no-cache', '--no-lock'])
  })

  it('takes no snapshot id that could be a flag', () => {
    assert.equal(resticSnapshotId('238d9bad'), '238d9bad')
    for (const text of ['--repo=/x', 'latest', '', '238d9bad:/etc']) {
      assert.throws(() => resticSnapshotId(text), { code: 'INVALID_ARGUMENT' })
    }
  })

  it('takes no tag that restic would split', () => {
    assert.deepEqual(resticTagArguments({ a: '1', b: '2' }), ['--tag', 'a=1', '--tag', 'b=2'])
    assert.throws(() => resticTagArguments({ a: '1,c=2' }), { code: 'INVALID_ARGUMENT' })
  })
})
