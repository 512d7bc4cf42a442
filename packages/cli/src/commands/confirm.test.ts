import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { describe, it } from 'node:test'
import type { Surroundings } from '../tree/command.ts'
import { confirm } from './confirm.ts'

function asked(input: string) {
  const stdout = new PassThrough()
  const surroundings = { stdin: Readable.from([input]), stdout, signal: new AbortController().signal }
  return { answer: confirm(surroundings as unknown as Surroundings), stdout }
}

describe('confirm', () => {
  it('takes y and n in either case', async () => {
    assert.equal(await asked('y\n').answer, true)
    assert.equal(await asked(' Y \n').answer, true)
    assert.equal(await asked('N\n').answer, false)
  })

  it('asks again until it understands', async () => {
    const { answer, stdout } = asked('yes\n\ny\n')
    assert.equal(await answer, true)
    assert.equal(String(stdout.read()).match(/\(Y\/N\)\?/g)?.length, 3)
  })

  it('is an error that names --confirm when the input ends', async () => {
    await assert.rejects(asked('').answer, { code: 'REFUSED', hint: /--confirm/ })
  })
})
