import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { clientConfigPath, readClientConfig, writeClientConfig } from './client-config.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'lateen-config-'))
after(() => rm(folder, { recursive: true }))

async function newHome(text?: string): Promise<string> {
  const home = await mkdtemp(path.join(folder, 'home-'))
  if (text === undefined) return home
  await mkdir(path.dirname(clientConfigPath(home)), { recursive: true })
  await writeFile(clientConfigPath(home), text)
  return home
}

describe('the client configuration', () => {
  it('is empty when there is no file', async () => {
    assert.deepEqual(await readClientConfig(await newHome()), {})
  })

  it('comes back as it was written, for the owner only', async () => {
    const home = await newHome()
    await writeClientConfig(home, { namespace: 'a' })
    assert.deepEqual(await readClientConfig(home), { namespace: 'a' })
    const { mode } = await stat(clientConfigPath(home))
    assert.equal(mode & 0o777, 0o600)
    assert.deepEqual(await readdir(path.dirname(clientConfigPath(home))), ['config.json'])
  })

  it('keeps a link to the file', async () => {
    const home = await newHome('{}')
    const elsewhere = path.join(home, 'dotfiles.json')
    await rm(clientConfigPath(home))
    await writeFile(elsewhere, '{}')
    await symlink(elsewhere, clientConfigPath(home))
    await writeClientConfig(home, { features: 'x' })
    assert.equal(await readlink(clientConfigPath(home)), elsewhere)
    assert.deepEqual(JSON.parse(await readFile(elsewhere, 'utf8')), { features: 'x' })
  })

  for (const text of ['', '{', '[]', '"text"', '{"namespace": }']) {
    it(`is an error that names the file when it holds ${JSON.stringify(text)}`, async () => {
      const home = await newHome(text)
      await assert.rejects(readClientConfig(home), {
        name: 'CliError',
        code: 'CONFIG',
        message: new RegExp(`${clientConfigPath(home)} is broken`),
      })
    })
  }

  it('is an error that names the file when it cannot be read', async () => {
    const home = await newHome()
    await mkdir(clientConfigPath(home), { recursive: true })
    await assert.rejects(readClientConfig(home), { code: 'CONFIG', message: /config\.json cannot be read/ })
    await assert.rejects(writeClientConfig(home, {}), { code: 'CONFIG', message: /cannot be written/ })
  })
})
