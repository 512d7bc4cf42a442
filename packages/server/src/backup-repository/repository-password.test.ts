import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { repositoryPassword } from './repository-password.ts'

describe('the password of repositories', () => {
  it('is what the Secret holds, without the line end that editors and shells leave', async () => {
    const read = async () => Buffer.from(' two words\r\n')
    assert.equal(await repositoryPassword(read), 'two words')
  })
})
