import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRepoLocation } from './repo-location.ts'

describe('the location of a repository', () => {
  it('is a folder', () => {
    assert.deepEqual(parseRepoLocation('file:///srv/my%20repo', {}, {}), {
      storageType: 'filesystem',
      storageOptions: { fspath: '/srv/my repo' },
    })
  })

  it('is a bucket with a prefix that ends in a slash', () => {
    for (const url of ['s3://b/k/ns', 's3://b/k/ns/']) {
      assert.deepEqual(parseRepoLocation(url, {}, {}).storageOptions, { bucket: 'b', prefix: 'k/ns/' })
    }
    assert.deepEqual(parseRepoLocation('s3://b', {}, {}).storageOptions, { bucket: 'b' })
  })

  it('takes what flags say before what variables say', () => {
    const env = {
      AWS_ENDPOINT_URL: 'http://one',
      AWS_DEFAULT_REGION: 'r1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'key',
    }
    const flags = { 's3-endpoint': 'http://two', 's3-skip-tls-verify': true }
    assert.deepEqual(parseRepoLocation('s3://b', flags, env).storageOptions, {
      bucket: 'b',
      endpoint: 'http://two',
      region: 'r1',
      accessKeyID: 'id',
      secretAccessKey: 'key',
      skipTLSVerify: 'true',
    })
  })

  it('is nothing else, and holds no credentials', () => {
    for (const url of [
      '/srv/repo',
      'file://srv/repo',
      'file:srv',
      'gs://b',
      's3://',
      's3://id:key@b/k',
      's3://b?x=1',
    ]) {
      assert.throws(() => parseRepoLocation(url, {}, {}), { code: 'INVALID_ARGUMENT' }, url)
    }
  })
})
