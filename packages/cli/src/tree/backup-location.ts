import { anyNames, type CommandSpec, command, newName, oneName } from './command.ts'
import type { FlagSet } from './flag.ts'
import { createOutputFlags, outputFlags } from './output-flags.ts'

const credential = {
  type: 'map',
  help: 'Credential of this location as SECRET=KEY: the name of a Secret in the namespace and the key in it. One pair only.',
} as const
const cacert = {
  type: 'string',
  help: 'File with a certificate bundle for TLS connections to the object store.',
} as const

export const backupLocationCreateFlags = {
  'access-mode': {
    type: 'choice',
    default: 'ReadWrite',
    choices: ['ReadWrite', 'ReadOnly'],
    help: 'ReadWrite, or ReadOnly when only restores may use the location.',
  },
  'backup-sync-period': {
    type: 'duration',
    help: 'How often backups found in the object store become Backup objects in the cluster; 0s turns it off. Without it the server decides (1m).',
  },
  bucket: { type: 'string', help: 'Bucket for the backups. Required.' },
  cacert,
  config: { type: 'map', help: "The provider's settings as key1=value1,key2=value2." },
  credential,
  default: { type: 'boolean', help: 'Make this the default location.' },
  labels: { type: 'map', help: 'Labels of the location as key1=value1,key2=value2.' },
  prefix: { type: 'string', help: 'Folder inside the bucket to keep everything under.' },
  provider: { type: 'string', help: 'Name of the storage provider. Required. Built in: aws, filesystem.' },
  'validation-frequency': {
    type: 'duration',
    help: 'How often to check that the location is usable; 0s turns it off. Without it the server decides (1m).',
  },
  ...createOutputFlags,
} as const satisfies FlagSet

export const backupLocationGetFlags = {
  default: { type: 'boolean', help: 'Show the default location only.' },
  selector: { type: 'string', short: 'l', help: 'Show only locations whose labels match this selector.' },
  ...outputFlags,
} as const satisfies FlagSet

export const backupLocationSetFlags = {
  cacert,
  credential,
  default: {
    type: 'optional-boolean',
    help: 'Make this the default location; --default=false makes it an ordinary one.',
  },
} as const satisfies FlagSet

export const backupLocationDeleteFlags = {
  all: { type: 'boolean', help: 'Delete all backup locations of the namespace.' },
  confirm: { type: 'boolean', help: 'Delete without asking.' },
  selector: {
    type: 'string',
    short: 'l',
    help: 'Delete all backup locations whose labels match this selector.',
  },
} as const satisfies FlagSet

function create(name: string): CommandSpec {
  return command({
    name,
    summary: 'Create a backup storage location',
    examples: [
      'lateen backup-location create default --default --provider aws --bucket backups --config region=eu-central-1 --credential cloud-credentials=cloud',
      'lateen backup-location create local --provider filesystem --bucket backups --config path=/srv/lateen',
    ],
    args: newName,
    flags: backupLocationCreateFlags,
    load: () => import('../commands/backup-location-create.ts'),
  })
}

function get(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Show backup storage locations',
    examples: ['lateen backup-location get', 'lateen backup-location get --default -o json'],
    args: anyNames('backupstoragelocations'),
    flags: backupLocationGetFlags,
    load: () => import('../commands/backup-location-get.ts'),
  })
}

function remove(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Delete backup storage locations',
    description:
      'Deletes locations and, with each, the Backup and BackupRepository objects that belong to it. What lies in the bucket stays there.',
    examples: [
      'lateen backup-location delete old-bucket',
      'lateen backup-location delete old-bucket other --confirm',
      'lateen backup-location delete --selector team=web',
    ],
    args: anyNames('backupstoragelocations'),
    flags: backupLocationDeleteFlags,
    load: () => import('../commands/backup-location-delete.ts'),
  })
}

function set(name: string): CommandSpec {
  return command({
    name,
    summary: 'Change a backup storage location',
    description:
      'Changes only what flags name. Only one location can be the default: make the one that is an ordinary one first, with --default=false.',
    examples: [
      'lateen backup-location set other --default',
      'lateen backup-location set other --credential new-credentials=cloud --cacert ca.pem',
    ],
    args: oneName('backupstoragelocations'),
    flags: backupLocationSetFlags,
    load: () => import('../commands/backup-location-set.ts'),
  })
}

/** `backup-location …` and the same commands under `create`, `get` and `delete`. */
export const backupLocationCommands = {
  noun: {
    name: 'backup-location',
    summary: 'Work with backup storage locations',
    commands: [create('create'), remove('delete'), get('get'), set('set')],
  },
  underCreate: create('backup-location'),
  underGet: get('backup-locations', ['backup-location']),
  underDelete: remove('backup-location', ['backup-locations']),
} as const satisfies Record<string, CommandSpec>
