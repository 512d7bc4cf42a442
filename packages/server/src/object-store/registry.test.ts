import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isObjectStoreError, type ObjectStore } from '@lateen/plugin'
import { createObjectStoreRegistry, qualifiedProviderName } from './registry.ts'

describe('the registry of object stores', () => {
  const aws = { name: 'aws' } as unknown as ObjectStore
  const custom = { name: 'custom' } as unknown as ObjectStore
  const registry = createObjectStoreRegistry({ 'velero.io/aws': () => aws, 'example.com/aws': () => custom })

  it('takes a bare word for a name in velero.io', () => {
    assert.equal(qualifiedProviderName('aws'), 'velero.io/aws')
    assert.equal(qualifiedProviderName('example.com/aws'), 'example.com/aws')
    assert.equal(registry.create('aws'), aws)
    assert.equal(registry.create('velero.io/aws'), aws)
    assert.equal(registry.create('example.com/aws'), custom)
  })

  it('names the unknown provider and those it has', () => {
    for (const provider of ['azure', '', 'example.com/s3', '__proto__']) {
      assert.throws(
        () => registry.create(provider),
        (error: unknown) => {
          assert.ok(isObjectStoreError(error, 'INVALID_CONFIG'))
          assert.ok(error.message.includes(`"${provider}"`))
          assert.ok(error.message.includes('example.com/aws, velero.io/aws'))
          return true
        },
      )
    }
  })
})
