import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { StepTeller } from './step-teller.ts'

function teller() {
  const lines: string[] = []
  const stop = new AbortController()
  let now = 0
  const told = new StepTeller({
    print: line => lines.push(line),
    now: () => {
      now += 1_500
      return now
    },
    signal: stop.signal,
  })
  return { lines, stop, told }
}

describe('StepTeller', () => {
  it('numbers the steps, indents what they say, and tells their time', async () => {
    const { lines, told } = teller()
    const value = await told.step('Do it', async tell => {
      tell('one\ntwo\n')
      return 7
    })
    await told.step('And this', async () => {})
    assert.equal(value, 7)
    assert.deepEqual(lines, [
      '',
      '1. Do it',
      '   one',
      '   two',
      '   [1.5 s]',
      '',
      '2. And this',
      '   [1.5 s]',
    ])
  })

  it('makes one line that names the step of whatever went wrong', async () => {
    const { told } = teller()
    const failing = told.step('Do it', () => Promise.reject(new Error('first line\n  second line\n')))
    await assert.rejects(failing, {
      code: 'QUICKSTART_FAILED',
      message: 'The step "Do it" failed: first line second line. Nothing after it was tried',
    })
    const hinting = told.step('Do it', () =>
      Promise.reject(Object.assign(new Error('no'), { hint: 'say yes' })),
    )
    await assert.rejects(hinting, { message: 'The step "Do it" failed: no. say yes' })
  })

  it('ends a step that hangs when it is aborted, and begins no other', async () => {
    const { stop, told } = teller()
    const reason = new Error('stop')
    const hanging = told.step('Hang', () => new Promise(() => {}))
    stop.abort(reason)
    await assert.rejects(hanging, reason)
    await assert.rejects(
      told.step('Next', async () => assert.fail('it began')),
      reason,
    )
  })

  it('is quiet about what an aborted step says when others have spoken', async () => {
    const { lines, stop, told } = teller()
    const { promise: late, resolve: goOn } = Promise.withResolvers<void>()
    let ended = Promise.resolve()
    const step = told.step('Take long', tell => {
      tell('begun')
      ended = late.then(() => tell('ended'))
      return ended
    })
    stop.abort(new Error('stop'))
    await assert.rejects(step)
    goOn()
    await ended
    assert.deepEqual(lines, ['', '1. Take long', '   begun'])
  })
})
