import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CommandSpec, isGroup } from '../tree/command.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { renderHelp } from './help.ts'

function everyPath(path: readonly CommandSpec[]): (readonly CommandSpec[])[] {
  const spec = path.at(-1)
  const below = spec !== undefined && isGroup(spec) ? spec.commands : []
  return [path, ...below.flatMap(child => everyPath([...path, child]))]
}

function pathTo(...names: string[]): CommandSpec[] {
  const path: CommandSpec[] = [commandTree]
  for (const name of names) {
    const spec = path.at(-1)
    const child =
      spec !== undefined && isGroup(spec) ? spec.commands.find(each => each.name === name) : undefined
    assert.ok(child !== undefined, name)
    path.push(child)
  }
  return path
}

/** Lines that may be broken: not usage and examples, which are typed as they are, nor lists and words that have no spaces. */
function breakable(help: string): string[] {
  const sections = help.split(/\n(?=[A-Z][a-z ]+:\n)/)
  const texts = sections.filter(section => !/^(Usage|Examples|Aliases):/.test(section))
  return texts
    .join('\n')
    .split('\n')
    .filter(line => /^ *\S+ .* \S+$/.test(line))
}

describe('renderHelp', () => {
  for (const columns of [40, 60, 80, 110, 200]) {
    it(`fits a terminal of ${columns} columns`, () => {
      for (const path of everyPath([commandTree])) {
        const help = renderHelp(path, globalFlags, { program: 'lateen', columns })
        for (const line of breakable(help)) {
          const words = line.trim().split(' ').length
          assert.ok(line.length <= Math.min(110, columns) || words <= 3, `${path.at(-1)?.name}: ${line}`)
        }
      }
    })
  }

  it('has no line for commands that programs call, nor for flags without effect', () => {
    const help = renderHelp([commandTree], globalFlags, { program: 'lateen' })
    assert.match(help, /^ {2}backup /m)
    assert.doesNotMatch(help, /node-agent|logtostderr/)
    assert.match(
      renderHelp(pathTo('node-agent', 'server'), globalFlags, { program: 'lateen' }),
      /--metrics-address/,
    )
  })

  it('calls the program as it was called', () => {
    const help = renderHelp(pathTo('backup', 'get'), globalFlags, { program: 'kubectl lateen' })
    assert.match(help, /Usage:\n {2}kubectl lateen backup get \[NAMES\] \[flags\]/)
    assert.match(help, /Examples:\n {2}kubectl lateen backup get\n/)
  })
})
