import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '@lateen/kube'
import { type Look, shownUntilEnd } from './shown-until-end.ts'

const { signal } = new AbortController()
const clock: Clock = { now: () => 0, sleep: async () => {} }

function shown(looks: Look[], terminal: boolean): Promise<string[]> {
  const look = async () => looks.shift() ?? assert.fail('it was looked at after its end')
  return Array.fromAsync(shownUntilEnd(look, { clock, signal, terminal, between: '--\n' }))
}

const going = (text: string): Look => ({ text, ended: false })
const over = (text: string): Look => ({ text, ended: true })

describe('shownUntilEnd', () => {
  it('shows what has changed, and the end', async () => {
    const looks = [going('1\n'), going('1\n'), going('2\n'), over('3\n')]
    assert.deepEqual(await shown(looks, false), ['1\n', '--\n2\n', '--\n3\n'])
  })

  it('shows nothing twice, though it ends', async () => {
    assert.deepEqual(await shown([going('1\n'), over('1\n')], false), ['1\n'])
  })

  it('draws anew on a terminal', async () => {
    const [first, second] = await shown([going('1\n'), over('2\n')], true)
    assert.deepEqual([first, second], ['\u001b[H\u001b[2J1\n', '\u001b[H\u001b[2J2\n'])
  })

  it('stops when it is interrupted', async () => {
    const stopped = AbortSignal.abort(new Error('interrupted'))
    const sleeping: Clock = {
      now: () => 0,
      sleep: async (_, abort) => abort?.throwIfAborted(),
    }
    const options = { clock: sleeping, signal: stopped, terminal: false, between: '' }
    await assert.rejects(Array.fromAsync(shownUntilEnd(async () => going('1'), options)), /interrupted/)
  })
})
