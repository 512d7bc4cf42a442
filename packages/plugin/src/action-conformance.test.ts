import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { before, describe, it } from 'node:test'

/** Titles of failed tests, by the name of the action. */
type Failures = ReadonlyMap<string, readonly string[]>

describe('the conformance suites of actions', () => {
  let failures: Failures
  before(async () => {
    failures = failuresIn(await runProgram())
  })

  const expected: Record<string, RegExp> = {
    fickle: /^selects by lists/,
    senseless: /^selects by lists/,
    rounding: /^keeps integers/,
    lying: /^gives back what it left alone/,
    restless: /^starts no operation while a backup is finalized/,
    'all-knowing': /^knows no operation that it did not start/,
    boundless: /^tells how an operation goes on/,
    nameless: /^answers with objects that have a kind/,
    muddled: /^answers many calls at once/,
    idle: /^tells how an operation goes on/,
    deaf: /^gives up when its signal has aborted/,
    misnaming: /^answers with objects/,
    meddling: /^leaves the object alone/,
  }

  it('pass an action that keeps all promises', () => {
    assert.deepEqual(failures.get('fine'), [])
  })

  for (const [name, title] of Object.entries(expected)) {
    it(`fail one that is ${name}`, () => {
      assert.ok(
        failures.get(name)?.some(failed => title.test(failed)),
        `failed: ${failures.get(name)?.join(', ')}`,
      )
    })
  }
})

function runProgram(): Promise<string> {
  const program = path.join(import.meta.dirname, 'testing/bad-actions.ts')
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise(resolve => {
    // It fails, as most of its tests do.
    execFile(
      process.execPath,
      ['--test-reporter=tap', program],
      { env, maxBuffer: 1 << 26 },
      (_error, stdout) => {
        resolve(stdout)
      },
    )
  })
}

function failuresIn(tap: string): Failures {
  const failures = new Map<string, string[]>()
  let suite: string[] = []
  for (const line of tap.split('\n')) {
    const name = /^# Subtest: .* conformance: (\S+)$/.exec(line)?.[1]
    if (name !== undefined) {
      suite = []
      failures.set(name, suite)
    }
    const failed = /^ {4}not ok \d+ - (.*)$/.exec(line)?.[1]
    if (failed !== undefined) suite.push(failed)
  }
  return failures
}
