import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLogger } from '@lateen/kube'
import type { DeletionScope, DeletionStep } from './deletion-step.ts'
import { deletionSteps, stepsOfReplaced } from './deletion-steps.ts'
import { runDeletion } from './run-deletion.ts'

describe('runDeletion', () => {
  const scope = (signal = new AbortController().signal) =>
    ({ backup: { metadata: { name: 'b' } }, log: silentLogger, signal }) as DeletionScope

  /** Steps that note that they ran. */
  function steps(ran: string[]) {
    return (name: string, runs: DeletionStep['runs'], run: () => string[] = () => []): DeletionStep => ({
      name,
      runs,
      once: name.startsWith('once'),
      async run() {
        ran.push(name)
        return run()
      },
    })
  }

  it('goes on after a failure with those steps to which it does not matter', async () => {
    const ran: string[] = []
    const step = steps(ran)
    const list = [
      step('first', 'always', () => ['this stays', 'that too']),
      step('second', 'always', () => {
        throw new Error('broken')
      }),
      step('files', 'if-all-went-well'),
      step('last', 'always'),
    ]
    assert.deepEqual(await runDeletion(list, scope(), new Set()), ['this stays', 'that too', 'broken'])
    assert.deepEqual(ran, ['first', 'second', 'last'])
  })

  it('repeats all steps at the next attempt, but for those that are done for good', async () => {
    const ran: string[] = []
    const step = steps(ran)
    const done = new Set<string>()
    const list = [
      step('once-well', 'always'),
      step('once-not', 'always', () => ['no']),
      step('files', 'if-all-went-well'),
    ]
    await runDeletion(list, scope(), done)
    await runDeletion(list, scope(), done)
    assert.deepEqual(ran, ['once-well', 'once-not', 'once-not'])
  })

  it('ends with the signal', async () => {
    const stop = new AbortController()
    const step = steps([])
    const list = [
      step('first', 'always', () => {
        stop.abort(new Error('stopped'))
        throw new Error('because of that')
      }),
    ]
    await assert.rejects(runDeletion(list, scope(stop.signal), new Set()), /stopped/)
  })
})

describe('the steps of a deletion', () => {
  it('have names of their own, and the object goes last', () => {
    const names = deletionSteps.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    assert.deepEqual(names.slice(-2), ['files', 'object'])
  })

  it('take away nothing but the object where another backup has the name by now', () => {
    assert.deepEqual(
      stepsOfReplaced.map(({ name }) => name),
      ['object'],
    )
  })

  it('touch neither files nor object while something that only the files know of is left', () => {
    for (const { name, runs } of deletionSteps.slice(-2)) assert.equal(runs, 'if-all-went-well', name)
  })
})
