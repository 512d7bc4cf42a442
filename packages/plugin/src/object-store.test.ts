import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { portableKeyProblem } from './object-store.ts'
import { isObjectStoreError, ObjectStoreError } from './object-store-error.ts'

describe('portableKeyProblem', () => {
  for (const key of [
    'a',
    'backups/b1/velero-backup.json',
    'ü/日本/%20 +=&',
    '.hidden/..x',
    'x'.repeat(255),
  ]) {
    it(`accepts ${JSON.stringify(key.slice(0, 40))}`, () => assert.equal(portableKeyProblem(key), undefined))
  }
  const refused: [string, RegExp][] = [
    ['', /empty/],
    ['/etc/passwd', /begins/],
    ['a/', /ends/],
    ['a//b', /\/\//],
    ['../a', /"\.\."/],
    ['a/./b', /"\."/],
    ['a\0b', /control/],
    ['a\nb', /control/],
    ['\ud800', /Unicode/],
    ['x'.repeat(256), /255/],
    [`${'x/'.repeat(512)}x`, /1024/],
  ]
  for (const [key, why] of refused) {
    it(`refuses ${JSON.stringify(key.slice(0, 20))} and says why`, () =>
      assert.match(portableKeyProblem(key) ?? '', why))
  }
})

describe('ObjectStoreError', () => {
  it('puts the reason and the remedy into one message', () => {
    const error = new ObjectStoreError('NO_BUCKET', {
      reason: 'bucket "b" does not exist',
      hint: 'Create it',
    })
    assert.equal(error.message, 'bucket "b" does not exist. Create it')
    assert.equal(error.hint, 'Create it')
    assert.equal(error.retryable, false)
  })

  it('is retryable when its code is, unless told otherwise', () => {
    assert.equal(new ObjectStoreError('TIMEOUT', { reason: 'r' }).retryable, true)
    assert.equal(new ObjectStoreError('TIMEOUT', { reason: 'r', retryable: false }).retryable, false)
  })

  it('is recognised by code', () => {
    const error = new ObjectStoreError('FULL', { reason: 'r' })
    assert.ok(isObjectStoreError(error))
    assert.ok(isObjectStoreError(error, 'FULL'))
    assert.ok(!isObjectStoreError(error, 'TLS'))
    assert.ok(!isObjectStoreError(new Error('r')))
    assert.ok(!isObjectStoreError('FULL'))
  })
})
