import assert from 'node:assert/strict'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { findRestic } from './find-restic.ts'

describe('the restic of a machine', () => {
  it('is the first on the PATH that can be run, and knows of the environment what it needs', async () => {
    await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-find-restic-'))
    const [broken, good] = ['broken', 'good'].map(name => path.join(folder.path, name)) as [string, string]
    for (const [at, mode] of [
      [broken, 0o644],
      [good, 0o755],
    ] as const) {
      await mkdir(at)
      await writeFile(path.join(at, 'restic'), '', { mode })
    }
    const env = {
      PATH: `relative:${broken}:${good}`,
      HOME: '/h',
      HTTPS_PROXY: 'p',
      AWS_SECRET_ACCESS_KEY: 's',
    }
    const found = await findRestic({ ...env, VELERO_SCRATCH_DIR: '/scratch' })
    assert.equal(found?.binary, path.join(good, 'restic'))
    assert.deepEqual(found.env, { PATH: env.PATH, HOME: '/h', HTTPS_PROXY: 'p' })
    assert.equal(found.cacheFolder, '/scratch/.cache/restic')
    assert.equal((await findRestic(env))?.cacheFolder, undefined)
  })

  it('may be missing', async () => {
    assert.equal(await findRestic({ PATH: '/nowhere' }), undefined)
    assert.equal(await findRestic({}), undefined)
  })
})
