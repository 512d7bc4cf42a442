import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { readPassword, takeKeys } from './password.ts'

function terminal(keys: string) {
  const modes: boolean[] = []
  const prompts: string[] = []
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode(mode: boolean) {
      modes.push(mode)
      return stdin
    },
  })
  const prompt = (text: string) => {
    prompts.push(text)
    assert.equal(modes.at(-1), true)
    if (text.endsWith(': ')) stdin.write(keys)
  }
  const sources = { env: {}, stdin: stdin as never, prompt }
  return { modes, prompts, sources: { ...sources, signal: new AbortController().signal } }
}

const sources = { ...terminal('').sources, stdin: new PassThrough() as never, env: { SECRET: ' sesame ' } }

describe('the password', () => {
  it('is the first line of a file', async t => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-password-'))
    t.after(() => rm(folder, { recursive: true }))
    const file = path.join(folder, 'p')
    await writeFile(file, 'open sesame\r\nsecond\n')
    assert.equal(await readPassword({ 'password-file': file }, sources), 'open sesame')
    await writeFile(file, '\n')
    await assert.rejects(readPassword({ 'password-file': file }, sources), { code: 'INVALID_ARGUMENT' })
    await assert.rejects(readPassword({ 'password-file': `${file}-not` }, sources), {
      code: 'INVALID_ARGUMENT',
    })
  })

  it('is a variable as it stands', async () => {
    assert.equal(await readPassword({ 'password-env': 'SECRET' }, sources), ' sesame ')
    await assert.rejects(readPassword({ 'password-env': 'NONE' }, sources), { code: 'INVALID_ARGUMENT' })
  })

  it('is asked for on a terminal that does not show it', async () => {
    const { modes, prompts, sources: asked } = terminal('open\r')
    assert.equal(await readPassword({}, asked), 'open')
    assert.deepEqual(modes, [true, false])
    assert.deepEqual(prompts, ['Password: ', '\n'])
  })

  it('is asked for twice when it is new', async () => {
    const { prompts, sources: asked } = terminal('open\r')
    assert.equal(await readPassword({}, asked, { isNew: true }), 'open')
    assert.equal(prompts.length, 4)
  })

  it('is given up with Ctrl-C', async () => {
    const { modes, sources: asked } = terminal('op\x03')
    await assert.rejects(readPassword({}, asked), { code: 'CANCELLED' })
    assert.deepEqual(modes, [true, false])
  })

  it('is not read from a pipe', async () => {
    await assert.rejects(readPassword({}, sources), { code: 'INVALID_ARGUMENT', message: /no terminal/ })
  })

  it('loses a character to backspace', () => {
    assert.deepEqual(takeKeys('ab', '\x7fc🦊\x7f\r'), { typed: 'ac', key: 'enter' })
    assert.deepEqual(takeKeys('', '\x7f'), { typed: '', key: undefined })
  })
})
