import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatGoDuration, parseGoDuration } from '@lateen/api'
import { type CommandSpec, isGroup } from '../../packages/cli/src/tree/command.ts'
import type { FlagSet, FlagSpec } from '../../packages/cli/src/tree/flag.ts'
import { globalFlags } from '../../packages/cli/src/tree/global-flags.ts'
import { commandTree } from '../../packages/cli/src/tree/root.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { ToolError } from '../../tools/binaries/tool-error.ts'
import { type VeleroFlag, veleroTree } from './velero-tree.ts'

const velero = await tool('velero').catch((error: unknown) => {
  if (error instanceof ToolError) return error
  throw error
})
const skip = velero instanceof ToolError && velero.message

const pages = 'pages are as long as the reader keeps up with, and a number makes them that long'
const profiles = 'profiles hold what is in memory, so that nobody gets them unasked'
const blocks = 'items are read in parallel, which changes nothing in the backup'

/** Where a flag is not as Velero's, and why. */
const differences: Readonly<Record<string, string>> = {
  ' --namespace has no default, and theirs velero':
    'velero, but only where neither configuration nor environment names another',
  'install --features is a list, and theirs a string':
    'the flag of all commands; both are read as items with commas',
  'install --garbage-collection-frequency has no default, and theirs 1h': 'the server knows its own default',
  'install --image has no default, and theirs velero/velero:v1.18.3': 'the image is ours',
  'install --label-columns is missing': 'install prints no tables, and velero refuses them, too',
  'install --show-labels is missing': 'likewise',
  'run-plugins --client-page-size has no default, and theirs 500': pages,
  'run-plugins --item-block-worker-count has the default 8, and theirs 1': blocks,
  'run-plugins --profiler-address has no default, and theirs localhost:6060': profiles,
  'server --client-page-size has no default, and theirs 500': pages,
  'server --item-block-worker-count has the default 8, and theirs 1': blocks,
  'server --profiler-address has no default, and theirs localhost:6060': profiles,
}

interface OurCommand {
  readonly aliases: readonly string[]
  readonly flags: FlagSet
}

function commandsOf(spec: CommandSpec, path = ''): [string, OurCommand][] {
  const own: OurCommand = {
    aliases: spec.aliases ?? [],
    flags: path === '' ? globalFlags : isGroup(spec) ? {} : spec.flags,
  }
  const below = isGroup(spec) ? spec.commands : []
  return [[path, own], ...below.flatMap(child => commandsOf(child, `${path} ${child.name}`.trim()))]
}

/** Which of our types take what Velero's take. */
const alike: Readonly<Record<string, readonly FlagSpec['type'][]>> = {
  string: ['string', 'choice'],
  stringArray: ['list'],
  strings: ['list'],
  mapStringString: ['map'],
  optionalBool: ['optional-boolean', 'string'],
  labelSelector: ['string'],
  orLabelSelector: ['string'],
  duration: ['duration'],
  int: ['integer'],
  uint: ['integer'],
  float32: ['number'],
  severity: ['string'],
  traceLocation: ['string'],
  moduleSpec: ['string'],
  Level: ['integer'],
  // Of flags whose value has no name, the help shows where it would be.
  '0s': ['duration'],
  '': ['boolean', 'choice'],
}

/** What a default means: nothing and the empty value of its type are the same. */
function meaning(type: FlagSpec['type'], text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  if (type === 'duration') {
    const value = parseGoDuration(text)
    return value === 0n ? undefined : formatGoDuration(value)
  }
  if (type === 'boolean') return text === 'true' ? text : undefined
  return (type === 'integer' || type === 'number') && Number(text) === 0 ? undefined : text
}

function faultsOf(theirs: VeleroFlag, spec: FlagSpec | undefined): string[] {
  if (spec === undefined) return ['is missing']
  const isBare = spec.type === 'boolean' || spec.type === 'optional-boolean'
  const ours = meaning(spec.type, spec.default)
  return [
    (alike[theirs.type] ?? []).includes(spec.type) ? '' : `is a ${spec.type}, and theirs a ${theirs.type}`,
    isBare === theirs.bare ? '' : `${isBare ? 'may' : 'may not'} stand alone`,
    spec.short === theirs.short ? '' : `has the short form ${spec.short}, and theirs ${theirs.short}`,
    ours === meaning(spec.type, theirs.default)
      ? ''
      : `has ${ours === undefined ? 'no default' : `the default ${ours}`}, and theirs ${theirs.default}`,
  ].filter(Boolean)
}

describe('the command tree beside that of the real velero', { skip }, async () => {
  const theirs = skip ? [] : await veleroTree(String(velero))
  const tree = new Map(commandsOf(commandTree))

  it('was read whole', () => {
    assert.ok(theirs.length >= 79, `${theirs.length} commands`)
    assert.ok(theirs.flatMap(command => [...command.flags.keys()]).length >= 400)
  })

  it('has every command with its other names', () => {
    for (const { path, aliases } of theirs) {
      assert.deepEqual(tree.get(path)?.aliases, aliases, `velero ${path}`)
    }
  })

  it('has every flag with its short form, type and default, but for those that are listed', () => {
    const found = theirs.flatMap(({ path, flags }) =>
      [...flags].flatMap(([name, flag]) =>
        faultsOf(flag, tree.get(path)?.flags[name] ?? tree.get('')?.flags[name]).map(
          fault => `${path} --${name} ${fault}`,
        ),
      ),
    )
    assert.deepEqual(found, Object.keys(differences))
  })
})
