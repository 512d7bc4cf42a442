import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { waitingClock } from '../../../tools/test/waiting-clock.ts'
import { KubeError, type KubeErrorOptions } from './errors.ts'
import { silentLogger } from './logger.ts'
import { patiently } from './patiently.ts'

const failure = (options: Partial<KubeErrorOptions>) => new KubeError('X', { message: 'x', ...options })

/** A server that fails until a moment, and a clock that goes when somebody waits. */
function given(backAtMs: number, error: Error = failure({ retryable: true })) {
  const clock = waitingClock()
  const send = async () => {
    if (clock.now() < backAtMs) throw error
    return clock.now()
  }
  return { clock, send, log: silentLogger }
}

describe('A request that is sent patiently', () => {
  it('outlasts a server that is away for more than a minute', async () => {
    const { send, ...ports } = given(100_000)
    assert.ok((await patiently(send, ports)) >= 100_000)
  })

  it('is given up when patience is over, with the reason', async () => {
    const error = failure({ retryable: true })
    const { send, ...ports } = given(Number.POSITIVE_INFINITY, error)
    await assert.rejects(patiently(send, { ...ports, patienceMs: 30_000 }), error)
    assert.ok(ports.clock.now() > 20_000 && ports.clock.now() <= 30_000, `${ports.clock.now()}`)
  })

  it('waits as long as the server asks', async () => {
    const { send, ...ports } = given(1, failure({ retryable: true, retryAfterMs: 17_000 }))
    assert.equal(await patiently(send, ports), 17_000)
  })

  it('is not repeated where time cures nothing, nor where it may have been carried out and must not be twice', async () => {
    for (const error of [failure({ retryable: false }), new Error('no answer of a server')]) {
      const { send, ...ports } = given(1, error)
      await assert.rejects(patiently(send, ports), error)
    }
    const acted = given(1, failure({ retryable: true, mayHaveActed: true }))
    await assert.rejects(patiently(acted.send, { ...acted, once: true }), { code: 'X' })
    assert.equal(acted.clock.now(), 0)
    assert.ok((await patiently(acted.send, acted)) > 0)
  })

  it('ends with its signal', async () => {
    const { send, ...ports } = given(1)
    const reason = new Error('enough')
    await assert.rejects(patiently(send, { ...ports, signal: AbortSignal.abort(reason) }), reason)
  })
})
