import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { repositoryPassword } from './repository-password.ts'

describe('the password of repositories', () => {
  it('is what the Secret holds, without the line end that editors and shells leave', async () => {
    const read = async () => Buffer.from(' two words\r\n')
    assert.equal(await repositoryPassword(read), 'two words')
  })

  it('was changed where it is no text, so that nobody else could open what was made with it', async () => {
    const read = async () => Buffer.from([0xff, 0xfe, 0x61])
    await assert.rejects(repositoryPassword(read), {
      code: 'SECRET_NOT_TEXT',
      message: /repository-password of the secret velero-repo-credentials is not UTF-8 text/,
    })
  })

  it('ends and begins where Go says', async () => {
    const trimmed = async (text: string) => repositoryPassword(async () => Buffer.from(text))
    assert.equal(await trimmed('\u0085\u00a0a b\u3000\t'), 'a b')
    assert.equal(await trimmed('\ufeffa'), '\ufeffa')
  })
})
