import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CliError } from '../cli-error.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { type CommandLine, parseCommandLine } from './command-line.ts'

function parsed(...argv: string[]): CommandLine {
  return parseCommandLine(commandTree, globalFlags, argv)
}

function path(line: CommandLine): string {
  return line.path.map(step => step.name).join(' ')
}

function given(line: CommandLine): Record<string, readonly string[]> {
  assert.equal(line.want, 'run')
  return Object.fromEntries((line as Extract<CommandLine, { want: 'run' }>).given)
}

function refusal(...argv: string[]): string {
  try {
    parsed(...argv)
  } catch (error) {
    assert.ok(error instanceof CliError)
    assert.equal(error.code, 'USAGE')
    return error.message
  }
  throw new Error('nothing was refused')
}

describe('parseCommandLine', () => {
  it('finds a command under its noun and under its verb', () => {
    assert.equal(path(parsed('backup-location', 'get')), 'lateen backup-location get')
    assert.equal(path(parsed('get', 'backup-locations')), 'lateen get backup-locations')
    assert.equal(path(parsed('get', 'backup-location')), 'lateen get backup-locations')
  })

  it('takes global flags before and after the command', () => {
    assert.deepEqual(given(parsed('-n', 'a', 'backup-location', 'get')), { namespace: ['a'] })
    assert.deepEqual(given(parsed('backup-location', 'get', '--namespace=a')), { namespace: ['a'] })
  })

  it('keeps every text of a repeated flag', () => {
    const line = parsed('backup-location', 'create', 'a', '--config', 'x=1', '--config=y=2')
    assert.deepEqual(given(line), { config: ['x=1', 'y=2'] })
  })

  it('keeps flags whose names begin with no- apart from their namesakes', () => {
    assert.deepEqual(given(parsed('install', '--no-secret')), { 'no-secret': ['true'] })
    assert.deepEqual(given(parsed('install')), {})
  })

  it('hands over names that stand between and after flags', () => {
    const line = parsed('backup-location', 'delete', 'a', '--confirm', 'b')
    assert.deepEqual(line.want === 'run' && line.args, ['a', 'b'])
  })

  it('gives help for the command that was named, however it was asked for', () => {
    for (const argv of [
      ['client', 'config', '--help'],
      ['client', 'config', '-h'],
      ['help', 'client', 'config'],
      ['client', 'config'],
    ]) {
      const line = parsed(...argv)
      assert.deepEqual([line.want, path(line)], ['help', 'lateen client config'])
    }
    assert.deepEqual(parsed(), { want: 'help', path: [commandTree] })
  })

  it('refuses an unknown command and names a similar one', () => {
    assert.equal(
      refusal('backup-locatoin', 'get'),
      "unknown command 'backup-locatoin' (Did you mean backup-location?)",
    )
  })

  it('refuses an unknown flag', () => {
    assert.match(refusal('version', '--nope'), /unknown option '--nope'/)
  })

  it('refuses a flag without its value', () => {
    assert.match(refusal('backup-location', 'create', 'a', '--bucket'), /--bucket.*argument missing/)
  })

  it('refuses too few and too many arguments', () => {
    assert.match(refusal('backup-location', 'create'), /takes 1 argument\(s\), and 0 were given/)
    assert.match(refusal('backup-location', 'create', 'a', 'b'), /takes 1 argument\(s\), and 2 were given/)
    assert.match(refusal('client', 'config', 'set'), /takes at least 1 argument/)
  })

  it('refuses an argument that is not one of the known ones', () => {
    assert.match(refusal('completion', 'tcsh'), /knows bash, zsh, fish, and not "tcsh"/)
  })
})
