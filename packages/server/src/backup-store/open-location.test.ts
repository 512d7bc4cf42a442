import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bucketName } from './open-location.ts'

describe('bucketName', () => {
  it('drops outer slashes', () => {
    assert.equal(bucketName('b'), 'b')
    assert.equal(bucketName('/b//'), 'b')
  })

  it('refuses a bucket with a prefix in it and says where the prefix belongs', () => {
    assert.throws(() => bucketName('b/team'), /"b\/team" contains a "\/".*spec\.objectStorage\.prefix/)
  })

  it('refuses an empty bucket', () => {
    for (const written of ['', '/', '//']) assert.throws(() => bucketName(written), /bucket is empty/)
  })
})
