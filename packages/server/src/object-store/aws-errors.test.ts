import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ObjectStoreError, type ObjectStoreErrorCode } from '@lateen/plugin'
import { awsError } from './aws-errors.ts'

const target = { endpoint: 'http://s3.test:9000', bucket: 'b' }
const named = (name: string, extra: object = {}) =>
  Object.assign(new Error('request 123 at 10:00'), { name }, extra)
const socket = (code: string) => Object.assign(new Error(`connect ${code} 10.0.0.1`), { code })

describe('awsError', () => {
  const cases: [string, unknown, ObjectStoreErrorCode, RegExp][] = [
    [
      'a missing bucket',
      named('NoSuchBucket'),
      'NO_BUCKET',
      /"b" does not exist at http:\/\/s3\.test:9000\. Create it/,
    ],
    ['a wrong key id', named('InvalidAccessKeyId'), 'BAD_CREDENTIALS', /aws_access_key_id/],
    ['a wrong secret', named('SignatureDoesNotMatch'), 'BAD_CREDENTIALS', /aws_secret_access_key/],
    ['an expired token', named('ExpiredToken'), 'BAD_CREDENTIALS', /Renew/],
    ['clock skew', named('RequestTimeTooSkewed'), 'CLOCK_SKEW', /NTP/],
    ['denied access', named('AccessDenied'), 'ACCESS_DENIED', /denied\. Allow/],
    ['another region', named('PermanentRedirect'), 'INVALID_CONFIG', /config\.region/],
    ['an unknown CA', socket('SELF_SIGNED_CERT_IN_CHAIN'), 'TLS', /caCert/],
    ['an expired certificate', socket('CERT_HAS_EXPIRED'), 'TLS', /expired/],
    ['a certificate of another name', socket('ERR_TLS_CERT_ALTNAME_INVALID'), 'TLS', /another name/],
    ['an unknown host', socket('ENOTFOUND'), 'UNREACHABLE', /cannot be resolved/],
    ['a closed port', socket('ECONNREFUSED'), 'UNREACHABLE', /nothing listens at http:\/\/s3\.test:9000/],
    ['a reset', socket('ECONNRESET'), 'UNREACHABLE', /closed the connection/],
    ['a timeout', named('TimeoutError'), 'TIMEOUT', /did not answer in time/],
    ['throttling', named('SlowDown'), 'STORE_FAULT', /tried again/],
    ['an unnamed 500', named('X', { $metadata: { httpStatusCode: 500 } }), 'STORE_FAULT', /status 500/],
    ['an unnamed 403', named('403', { $metadata: { httpStatusCode: 403 } }), 'ACCESS_DENIED', /denied/],
    ['no credentials', named('CredentialsProviderError'), 'BAD_CREDENTIALS', /spec\.credential/],
    ['anything else', named('MethodNotAllowed'), 'UNKNOWN', /MethodNotAllowed/],
    ['what is no error', 'text', 'UNKNOWN', /text/],
  ]
  for (const [what, error, code, message] of cases) {
    it(`reads ${what} as ${code}`, () => {
      const mapped = awsError(error, target)
      assert.equal(mapped.code, code)
      assert.match(mapped.message, message)
      assert.equal(mapped.cause, error)
    })
  }

  it('takes an unnamed 404 for the key if there is one, else for the bucket', () => {
    const error = named('NotFound', { $metadata: { httpStatusCode: 404 } })
    assert.equal(awsError(error, { ...target, key: 'k' }).code, 'NOT_FOUND')
    assert.equal(awsError(error, target).code, 'NO_BUCKET')
  })

  it('looks into causes and into the errors of several addresses', () => {
    const inner = new AggregateError([socket('ECONNREFUSED'), socket('ECONNREFUSED')])
    assert.equal(awsError(new Error('outer', { cause: inner }), target).code, 'UNREACHABLE')
  })

  it('keeps request ids and times out of known causes', () => {
    assert.doesNotMatch(awsError(named('AccessDenied'), target).message, /123|10:00/)
  })

  it('repeats the beginning of what the other side says, however much that is', () => {
    const talkative = Object.assign(new Error('m'.repeat(1 << 20)), { name: 'n'.repeat(1 << 20) })
    assert.ok(awsError(talkative, target).message.length < 1000)
  })

  it('neither repeats nor passes on the password of a proxy that Node cannot read', () => {
    for (const password of ['x1', 'x#1', 'x/1', 'x@1', 'x1'.repeat(400)]) {
      const inner = new Error(`Invalid proxy URL: http://me:${password}@proxy:99999`)
      for (const error of [
        inner,
        new Error('outer', { cause: inner }),
        named('AccessDenied', { cause: inner }),
      ]) {
        const mapped = awsError(error, target)
        assert.doesNotMatch(mapped.message, /x.?1/)
        assert.equal(mapped.cause, undefined)
      }
      assert.match(awsError(inner, target).message, /Invalid proxy URL: http:\/\/<left out>@proxy:99999$/)
    }
  })

  it('passes its own errors through', () => {
    const error = new ObjectStoreError('FULL', { reason: 'r' })
    assert.equal(awsError(error, target), error)
  })
})
