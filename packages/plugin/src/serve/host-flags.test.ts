import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseHostFlags } from './host-flags.ts'

describe('the flags of a host', () => {
  for (const [args, level, features] of [
    [[], 'info', []],
    [['--log-level=debug', '--features=EnableCSI,Other'], 'debug', ['EnableCSI', 'Other']],
    [['--log-level', 'warning', '--features', ' EnableCSI , '], 'warn', ['EnableCSI']],
    [['--log-level=warn', '-v=4', '--odd', 'x', '--flag'], 'warn', []],
    [['--log-level=info', '--log-level=fatal'], 'error', []],
    [['--log-level=nonsense', '--features='], 'info', []],
    [['--log-level'], 'info', []],
  ] as const) {
    it(`are read from ${JSON.stringify(args.join(' '))}`, () => {
      const flags = parseHostFlags(args)
      assert.equal(flags.logLevel, level)
      assert.deepEqual([...flags.features], features)
    })
  }
})
