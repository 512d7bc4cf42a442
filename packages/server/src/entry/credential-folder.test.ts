import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { claimCredentialFolder } from './credential-folder.ts'

describe('the folder for credentials', () => {
  let parent = ''
  beforeEach(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'lateen-credential-folder-'))
  })
  afterEach(() => rm(parent, { recursive: true, force: true }))

  const claim = (alive: number[] = []) =>
    claimCredentialFolder({ parent, pid: 7, begun: 'now', isAlive: pid => alive.includes(pid) })

  async function leftBy(name: string): Promise<void> {
    await mkdir(path.join(parent, name))
    await writeFile(path.join(parent, name, 'cloud_key'), 'secret')
  }

  it('is one of this server alone, and not there yet', async () => {
    assert.equal(await claim(), path.join(parent, 'lateen-credentials-7-now'))
    assert.deepEqual(await readdir(parent), [])
  })

  it('is found without a parent, which the first file makes', async () => {
    await rm(parent, { recursive: true })
    assert.equal(await claim(), path.join(parent, 'lateen-credentials-7-now'))
  })

  it('comes without those of servers that were killed, of the same number in a pod, or of others', async () => {
    await leftBy('lateen-credentials-7-before')
    await leftBy('lateen-credentials-8-before')
    await claim()
    assert.deepEqual(await readdir(parent), [])
  })

  it('leaves those of servers that run, and whatever is named otherwise', async () => {
    await leftBy('lateen-credentials-9-before')
    await leftBy('lateen-credentials-mine')
    await leftBy('others')
    await claim([9])
    assert.deepEqual((await readdir(parent)).toSorted(), [
      'lateen-credentials-9-before',
      'lateen-credentials-mine',
      'others',
    ])
  })

  it('does not follow a link that somebody put there', async () => {
    const target = await mkdtemp(path.join(tmpdir(), 'lateen-precious-'))
    try {
      await writeFile(path.join(target, 'precious'), '')
      await symlink(target, path.join(parent, 'lateen-credentials-8-x'))
      await claim()
      assert.deepEqual(await readdir(target), ['precious'])
    } finally {
      await rm(target, { recursive: true })
    }
  })
})
