import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commands } from './commands.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { commandHelp, programHelp } from './help.ts'
import { parseCommandLine } from './parse-command-line.ts'

const parse = (...words: string[]) => parseCommandLine(words, commands)

describe('a command line', () => {
  it('holds a command of one or two words, flags and arguments in any order', () => {
    const line = parse('snapshot', '--tag', 'a=1', '/data', '--tag=b=2', '--json')
    assert.ok(line.kind === 'run')
    assert.equal(line.command.name, 'snapshot')
    assert.deepEqual(line.args, ['/data'])
    assert.deepEqual(line.flags.tag, ['a=1', 'b=2'])
    assert.equal(line.flags.json, true)
    const two = parse('content', 'show', 'abcd')
    assert.ok(two.kind === 'run')
    assert.equal(two.command.name, 'content show')
  })

  it('asks for help with nothing, with help and with --help anywhere', () => {
    for (const words of [[], ['help'], ['--help'], ['nonsense', '--help']]) {
      assert.deepEqual(parse(...words), { kind: 'help', command: undefined })
    }
    const line = parse('restore', '--help')
    assert.ok(line.kind === 'help' && line.command?.name === 'restore')
  })

  it('is refused with what is wrong in one sentence', () => {
    const refused: [string[], RegExp][] = [
      [['nonsense'], /^there is no command "nonsense"$/],
      [['content'], /^"content" is half a command$/],
      [['--json', 'list'], /^flags come after the command$/],
      [['restore', 'abc'], /^restore needs more arguments$/],
      [['status', 'x'], /^status takes fewer arguments$/],
      [['list', '--bogus'], /^unknown option '--bogus'$/],
      [['list', '--repo'], /--repo <value>' argument missing$/],
    ]
    for (const [words, message] of refused)
      assert.throws(() => parse(...words), { code: 'INVALID_ARGUMENT', message })
  })

  it('takes no password', () => {
    assert.throws(() => parse('list', '--password', 'x'), { code: 'INVALID_ARGUMENT' })
  })
})

describe('the help', () => {
  it('names every command, and every exit code with its meaning', () => {
    const help = programHelp(commands)
    for (const { name, summary } of commands) assert.ok(help.includes(`  ${name}`) && help.includes(summary))
    for (const { code, meaning } of Object.values(exitCodes))
      assert.match(help, new RegExp(`^ +${code} +${meaning}$`, 'm'))
  })

  it('fits a terminal', () => {
    const all = [programHelp(commands), ...commands.map(commandHelp)].join('\n').split('\n')
    assert.deepEqual(
      all.filter(line => line.length > 120),
      [],
    )
  })

  it('gives every command an exit code for what goes wrong', () => {
    assert.equal(exitCodeOf('BAD_PASSWORD'), 4)
    assert.equal(exitCodeOf('STORAGE_FAILED'), 1)
    assert.equal(exitCodeOf('CANCELLED'), 130)
  })
})
