import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { flagArity, normalizeArguments } from './normalize-arguments.ts'

const arity = flagArity(commandTree, globalFlags)

function normalized(line: string): string[] {
  return normalizeArguments(line.split(' '), arity)
}

describe('normalizeArguments', () => {
  it('spells out a boolean flag that stands alone', () => {
    assert.deepEqual(normalized('delete backup-location --confirm a'), [
      'delete',
      'backup-location',
      '--confirm=true',
      'a',
    ])
  })

  it('gives a short boolean flag its value', () => {
    assert.deepEqual(normalized('backup create -w a'), ['backup', 'create', '-w', 'true', 'a'])
    assert.deepEqual(normalized('backup create -w=false a'), ['backup', 'create', '-w', 'false', 'a'])
  })

  it('leaves a boolean flag with a value as it is', () => {
    assert.deepEqual(normalized('set a --default=false'), ['set', 'a', '--default=false'])
  })

  it('does not touch the value of a flag, even when it looks like a flag', () => {
    assert.deepEqual(normalized('create a --bucket --default'), ['create', 'a', '--bucket', '--default'])
  })

  it('splits a short flag from its value', () => {
    assert.deepEqual(normalized('get -o=json -n=a=b'), ['get', '-o', 'json', '-n', 'a=b'])
  })

  it('does not touch anything after two dashes', () => {
    assert.deepEqual(normalized('get -- --confirm -o=json'), ['get', '--', '--confirm', '-o=json'])
  })

  it('turns the help command into the help flag', () => {
    assert.deepEqual(normalized('help client config'), ['client', 'config', '--help'])
  })
})

describe('the command tree', () => {
  it('gives no flag a value in one command and none in another', () => {
    assert.deepEqual([...arity.bare.intersection(arity.valued)], [])
  })
})
