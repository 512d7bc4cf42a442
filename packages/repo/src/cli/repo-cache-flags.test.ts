import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CommandContext, FlagValues } from './command.ts'
import { repoCacheOf } from './repo-cache-flags.ts'

function cacheOf(storageType: 's3' | 'filesystem', flags: FlagValues, env: Record<string, string> = {}) {
  const surroundings = { env } as unknown as CommandContext['surroundings']
  return repoCacheOf({ flags, surroundings }, { storageType })
}

describe('the cache of lateen-repo', () => {
  it("lies below the user's cache folder for S3", () => {
    assert.equal(cacheOf('s3', {}, { HOME: '/home/me' })?.folder, '/home/me/.cache/lateen-repo')
    assert.equal(
      cacheOf('s3', {}, { HOME: '/home/me', XDG_CACHE_HOME: '/var/c' })?.folder,
      '/var/c/lateen-repo',
    )
    assert.equal(cacheOf('s3', {}, {}), undefined)
  })

  it('is not there for a folder unless asked for, nor for S3 when it is not wanted', () => {
    assert.equal(cacheOf('filesystem', {}, { HOME: '/home/me' }), undefined)
    assert.equal(cacheOf('filesystem', { 'cache-dir': '/c' })?.folder, '/c')
    assert.equal(cacheOf('s3', { 'cache-dir': 'none' }, { HOME: '/home/me' }), undefined)
    assert.equal(cacheOf('s3', {}, { HOME: '/home/me', LATEEN_REPO_CACHE: 'none' }), undefined)
  })

  it('has the size that is asked for, in megabytes', () => {
    assert.equal(cacheOf('s3', { 'cache-dir': '/c', 'cache-limit': '10' })?.contentBytes, 8 << 20)
    assert.throws(() => cacheOf('s3', { 'cache-limit': 'lots' }), { code: 'INVALID_ARGUMENT' })
  })
})
