import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cacheVolumeFor } from './cache-volume.ts'

const settings = { storageClass: 'fast', residentThresholdInMB: 1024 }

describe('the volume that a restore caches in', () => {
  it('is a fifth larger than the cache may grow, in whole gibibytes', () => {
    // 5000 MB and a fifth are 6000 MB: 5.86 GiB. 1024 MB and a fifth are 1.2 GiB.
    assert.equal(cacheVolumeFor({ settings, bytes: 2e9, limitMB: undefined })?.gibibytes, 6)
    assert.equal(cacheVolumeFor({ settings, bytes: 2e9, limitMB: '1024' })?.gibibytes, 2)
    assert.equal(cacheVolumeFor({ settings, bytes: 2e9, limitMB: 'lots' })?.gibibytes, 6)
  })

  it('is made for what is large, or may be', () => {
    const of = (bytes: number | undefined) => cacheVolumeFor({ settings, bytes, limitMB: undefined })
    assert.equal(of(1024 * 2 ** 20 - 1), undefined)
    assert.equal(of(1024 * 2 ** 20)?.storageClass, 'fast')
    assert.equal(of(undefined)?.storageClass, 'fast')
    assert.equal(of(0)?.storageClass, 'fast')
  })

  it('is not made without a storage class, or without a cache', () => {
    assert.equal(cacheVolumeFor({ settings: undefined, bytes: 1, limitMB: undefined }), undefined)
    const nameless = { residentThresholdInMB: 0 }
    assert.equal(cacheVolumeFor({ settings: nameless, bytes: 1, limitMB: undefined }), undefined)
    assert.equal(cacheVolumeFor({ settings, bytes: 2e9, limitMB: '0' }), undefined)
  })
})
