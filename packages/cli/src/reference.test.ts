import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommandLine } from './parse/command-line.ts'
import { readFlagValues } from './parse/flag-values.ts'
import { cliReference } from './reference.ts'
import { type CommandSpec, isGroup, type LeafCommand } from './tree/command.ts'
import { globalFlags } from './tree/global-flags.ts'
import { commandTree } from './tree/root.ts'

function everyPath(spec: CommandSpec, above: readonly string[] = []): string[] {
  const path = [...above, spec.name]
  const below = isGroup(spec) ? spec.commands.flatMap(child => everyPath(child, path)) : []
  return [path.join(' '), ...below]
}

describe('cliReference', () => {
  const pages = cliReference()
  const text = [...pages.values()].join('\n')

  it('describes every command under a heading of its own', () => {
    for (const path of everyPath(commandTree).slice(1)) assert.match(text, new RegExp(`^#+ ${path}$`, 'm'))
  })

  it('links the overview to a page for every command', () => {
    const links = [...(pages.get('docs/cli/README.md') ?? '').matchAll(/\]\((.+?)\)/g)].map(link => link[1])
    assert.deepEqual(new Set(links), new Set(commandTree.commands.map(spec => `${spec.name}.md`)))
    assert.equal(links.length, commandTree.commands.length)
    for (const link of links) assert.ok(pages.has(`docs/cli/${link}`))
  })
})

describe('the command tree', () => {
  it('has commands in alphabetical order', () => {
    const names = commandTree.commands.map(spec => spec.name)
    assert.deepEqual(names, names.toSorted())
  })
})

function everyLeaf(spec: CommandSpec, above: readonly string[] = []): [string, LeafCommand][] {
  const path = [...above, spec.name]
  return isGroup(spec) ? spec.commands.flatMap(child => everyLeaf(child, path)) : [[path.join(' '), spec]]
}

describe('the examples of commands', () => {
  for (const [path, spec] of everyLeaf(commandTree)) {
    it(`of ${path} are there, and are command lines that it takes`, () => {
      assert.ok((spec.examples ?? []).length > 0)
      for (const example of spec.examples ?? []) {
        const line = parseCommandLine(commandTree, globalFlags, wordsOf(example))
        assert.ok(line.want === 'run', example)
        // `get backups` and `backup get` are one command with the same examples.
        assert.equal(line.command.load.toString(), spec.load.toString(), example)
        assert.doesNotThrow(() => readFlagValues(line.command.flags, line.given), example)
      }
    })
  }
})

/** The words of the first `lateen …` in a line of a shell, as far as our examples need one. */
function wordsOf(example: string): string[] {
  const line = /lateen (.*)/.exec(example)?.[1]?.split(/ [|>&] | \| |\) |\)$/)[0] ?? ''
  return [...line.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/["']/g, ''))
}
