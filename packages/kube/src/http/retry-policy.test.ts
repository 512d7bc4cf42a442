import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { KubeError, type KubeErrorOptions } from '../errors.ts'
import { backoffMs, decideRetry, defaultRetryPolicy } from './retry-policy.ts'

const random = () => 0
const failure = (options: Partial<KubeErrorOptions>) => new KubeError('X', { message: 'x', ...options })

describe('The retry policy', () => {
  it('gives up on failures that time does not cure', () => {
    const error = failure({ retryable: false })
    assert.deepEqual(
      decideRetry({ error, attempt: 1, repeatable: true, elapsedMs: 0 }, defaultRetryPolicy, random),
      {
        retry: false,
      },
    )
  })

  it('repeats a request that is not repeatable only when the server surely did nothing', () => {
    const decide = (mayHaveActed: boolean) =>
      decideRetry(
        { error: failure({ retryable: true, mayHaveActed }), attempt: 1, repeatable: false, elapsedMs: 0 },
        defaultRetryPolicy,
        random,
      ).retry
    assert.equal(decide(true), false)
    assert.equal(decide(false), true)
  })

  it('waits at least as long as the server asks', () => {
    const error = failure({ retryable: true, retryAfterMs: 3000 })
    const decision = decideRetry(
      { error, attempt: 1, repeatable: true, elapsedMs: 0 },
      defaultRetryPolicy,
      random,
    )
    assert.ok(decision.retry && decision.afterMs >= 3000)
  })

  it('gives up when the server asks for more patience than the policy has', () => {
    const error = failure({ retryable: true, retryAfterMs: defaultRetryPolicy.maxRetryAfterMs + 1 })
    assert.equal(
      decideRetry({ error, attempt: 1, repeatable: true, elapsedMs: 0 }, defaultRetryPolicy, random).retry,
      false,
    )
  })

  it('makes the number of attempts the policy names', () => {
    const error = failure({ retryable: true })
    const retried = [1, 2, 3].map(
      attempt =>
        decideRetry(
          { error, attempt, repeatable: true, elapsedMs: 0 },
          { ...defaultRetryPolicy, attempts: 3 },
          random,
        ).retry,
    )
    assert.deepEqual(retried, [true, true, false])
  })

  it('does not repeat what has been tried for longer than there is patience', () => {
    const error = failure({ retryable: true })
    const policy = { ...defaultRetryPolicy, patienceMs: 1000 }
    const retried = [0, 999, 1000].map(
      elapsedMs => decideRetry({ error, attempt: 1, repeatable: true, elapsedMs }, policy, random).retry,
    )
    assert.deepEqual(retried, [true, true, false])
  })

  it('keeps every wait between half the step and the step, and below the cap', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, chance) => {
          const wait = backoffMs(attempt, { baseMs: 100, capMs: 5000 }, () => chance)
          const step = Math.min(5000, 100 * 2 ** (attempt - 1))
          assert.ok(wait >= step / 2 && wait <= step)
        },
      ),
    )
  })
})
