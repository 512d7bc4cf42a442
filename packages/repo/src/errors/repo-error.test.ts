import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { corrupt, isRepoError, RepoError, throwIfCancelled } from './repo-error.ts'

describe('a repository error', () => {
  it('carries its code, hint, ids and cause', () => {
    const cause = new Error('disk')
    const error = new RepoError('BLOB_NOT_FOUND', {
      message: 'The blob p1 is missing',
      hint: 'verify',
      blobId: 'p1',
      cause,
    })
    assert.equal(error.code, 'BLOB_NOT_FOUND')
    assert.equal(error.message, 'The blob p1 is missing')
    assert.equal(error.hint, 'verify')
    assert.equal(error.blobId, 'p1')
    assert.equal(error.cause, cause)
    assert.equal(error.retryable, false)
  })

  it('is told apart by code', () => {
    assert.equal(isRepoError(corrupt('bad')), true)
    assert.equal(isRepoError(corrupt('bad'), 'CORRUPT'), true)
    assert.equal(isRepoError(corrupt('bad'), 'LOCKED'), false)
    assert.equal(isRepoError(new Error('CORRUPT')), false)
  })

  it('says CANCELLED once a signal is aborted, and nothing before', () => {
    const controller = new AbortController()
    throwIfCancelled(undefined)
    throwIfCancelled(controller.signal)
    controller.abort('enough')
    assert.throws(() => throwIfCancelled(controller.signal), { code: 'CANCELLED', cause: 'enough' })
  })
})
