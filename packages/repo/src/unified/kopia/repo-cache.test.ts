import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { systemClock } from '../../clock/clock.ts'
import { kopiaRepoService } from './kopia-repo-service.ts'
import { repoCache } from './repo-cache.ts'
import { retentionOption } from './retention-option.ts'

const mebibyte = 1 << 20

describe('the cache of a unified repository', () => {
  it("has Velero's size and is divided as Velero does, unless a limit is given", () => {
    const s3 = { storageType: 's3', storageOptions: { bucket: 'b' } } as const
    assert.deepEqual(repoCache(s3, '/cache'), {
      folder: '/cache',
      metadataBytes: 1000 * mebibyte,
      contentBytes: 4000 * mebibyte,
    })
    const smaller = { ...s3, storageOptions: { bucket: 'b', cacheLimitMB: '50' } }
    assert.deepEqual(repoCache(smaller, '/cache'), {
      folder: '/cache',
      metadataBytes: 10 * mebibyte,
      contentBytes: 40 * mebibyte,
    })
    const wrong = { ...s3, storageOptions: { bucket: 'b', cacheLimitMB: 'lots' } }
    assert.deepEqual(repoCache(wrong, '/cache'), repoCache(s3, '/cache'))
  })

  it('has no room for file data when that is not to be kept', () => {
    const options = { storageType: 's3', storageOptions: { bucket: 'b', cacheContents: 'false' } } as const
    assert.deepEqual(repoCache(options, '/cache'), {
      folder: '/cache',
      metadataBytes: 1000 * mebibyte,
      contentBytes: 0,
    })
  })

  it('lies where the options say, and nowhere when they say 0 or there is no folder', () => {
    const named = { storageType: 's3', storageOptions: { bucket: 'b', cacheDir: '/mnt/cache' } } as const
    assert.equal(repoCache(named, '/cache')?.folder, '/mnt/cache')
    assert.equal(repoCache({ ...named, storageOptions: { bucket: 'b' } }, undefined), undefined)
    assert.equal(
      repoCache({ ...named, storageOptions: { cacheDir: '/c', cacheLimitMB: '0' } }, '/cache'),
      undefined,
    )
  })

  it('is not made for a folder, which is as near as the cache', () => {
    const folder = { storageType: 'filesystem', storageOptions: { fspath: '/repo' } } as const
    assert.equal(repoCache(folder, '/cache'), undefined)
    const named = { ...folder, storageOptions: { fspath: '/nfs/repo', cacheDir: '/cache' } }
    assert.equal(repoCache(named, undefined)?.folder, '/cache')
  })
})

describe('a service', () => {
  it('caches where the options say, and asks the storage to protect blobs', async t => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-service-'))
    t.after(() => rm(folder, { recursive: true }))
    const [fspath, cacheDir] = [path.join(folder, 'repo'), path.join(folder, 'cache')]
    const service = kopiaRepoService({ clock: systemClock })
    const options = {
      storageType: 'filesystem',
      repoPassword: 'p',
      storageOptions: { fspath, cacheDir },
    } as const
    await service.init(options, { createNew: true })
    const repo = await service.open(options)
    await repo.findManifests({ labels: {} })
    await repo.close()
    const [id = ''] = await readdir(cacheDir)
    assert.ok((await readdir(path.join(cacheDir, id, 'metadata'))).some(name => name.startsWith('xn')))

    const locking = {
      ...options,
      storageOptions: { fspath: path.join(folder, 'locked') },
      generalOptions: { retentionMode: 'GOVERNANCE', retentionPeriod: '48h' },
    }
    await assert.rejects(service.init(locking, { createNew: true }), {
      code: 'INVALID_ARGUMENT',
      message: /no object lock/,
    })
  })
})

describe('the protection of blobs in a unified repository', () => {
  it('is given by mode and period, as Velero and Go write them', () => {
    const hour = 3_600_000
    for (const [retentionPeriod, period] of [
      ['720h', 720 * hour],
      ['48h30m0s', 48.5 * hour],
    ] as const) {
      const generalOptions = { retentionMode: 'GOVERNANCE', retentionPeriod }
      assert.deepEqual(retentionOption({ generalOptions }), { retention: { mode: 'GOVERNANCE', period } })
    }
    assert.equal(retentionOption({}), undefined)
  })

  it('is refused when half of it is missing or wrong', () => {
    for (const generalOptions of [
      { retentionMode: 'GOVERNANCE' },
      { retentionPeriod: '720h' },
      { retentionMode: 'FOREVER', retentionPeriod: '720h' },
      { retentionMode: 'COMPLIANCE', retentionPeriod: 'a week' },
    ])
      assert.throws(() => retentionOption({ generalOptions }), { code: 'INVALID_ARGUMENT' })
  })
})
