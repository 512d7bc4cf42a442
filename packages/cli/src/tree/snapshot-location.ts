import { anyNames, type CommandSpec, command, newName, oneName } from './command.ts'
import type { FlagSet } from './flag.ts'
import { getFlags } from './object-flags.ts'
import { createOutputFlags } from './output-flags.ts'

const credential = {
  type: 'map',
  help: 'Credential of this location as SECRET=KEY: the name of a Secret in the namespace and the key in it. One pair only.',
} as const

export const snapshotLocationCreateFlags = {
  config: { type: 'map', help: "The provider's settings as key1=value1,key2=value2." },
  credential,
  labels: { type: 'map', help: 'Labels of the location as key1=value1,key2=value2.' },
  provider: { type: 'string', help: 'Name of the volume snapshot provider. Required. It is a plugin.' },
  ...createOutputFlags,
} as const satisfies FlagSet

export const snapshotLocationGetFlags = getFlags({
  one: 'snapshot location',
  many: 'snapshot locations',
})

export const snapshotLocationSetFlags = { credential } as const satisfies FlagSet

function create(name: string): CommandSpec {
  return command({
    name,
    summary: 'Create a volume snapshot location',
    examples: [
      'lateen snapshot-location create east --provider aws --config region=us-east-1 --credential cloud-credentials=cloud',
    ],
    args: newName,
    flags: snapshotLocationCreateFlags,
    load: () => import('../commands/snapshot-location-create.ts'),
  })
}

function get(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Show volume snapshot locations',
    examples: ['lateen snapshot-location get', 'lateen snapshot-location get east -o yaml'],
    args: anyNames('volumesnapshotlocations'),
    flags: snapshotLocationGetFlags,
    load: () => import('../commands/snapshot-location-get.ts'),
  })
}

const set = command({
  name: 'set',
  summary: 'Change a volume snapshot location',
  examples: ['lateen snapshot-location set east --credential new-credentials=cloud'],
  args: oneName('volumesnapshotlocations'),
  flags: snapshotLocationSetFlags,
  load: () => import('../commands/snapshot-location-set.ts'),
})

/** `snapshot-location …` and the same commands under `create` and `get`. */
export const snapshotLocationCommands = {
  noun: {
    name: 'snapshot-location',
    summary: 'Work with volume snapshot locations',
    commands: [create('create'), get('get'), set],
  },
  underCreate: create('snapshot-location'),
  underGet: get('snapshot-locations', ['snapshot-location']),
} as const satisfies Record<string, CommandSpec>
