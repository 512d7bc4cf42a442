import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cliReference } from './reference.ts'
import { type CommandSpec, isGroup } from './tree/command.ts'
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
    assert.deepEqual(
      links,
      commandTree.commands.map(spec => `${spec.name}.md`),
    )
    for (const link of links) assert.ok(pages.has(`docs/cli/${link}`))
  })
})

describe('the command tree', () => {
  it('has commands in alphabetical order', () => {
    const names = commandTree.commands.map(spec => spec.name)
    assert.deepEqual(names, names.toSorted())
  })
})
