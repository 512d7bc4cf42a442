import { apiVersionOf, type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import { backupLocationColumns } from '../output/backup-location-columns.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupLocationCreateFlags } from '../tree/backup-location.ts'
import type { CommandCall } from '../tree/command.ts'
import type { FlagValues } from '../tree/flag.ts'
import { credentialOf } from './credential-flag.ts'
import { locationClient } from './location-client.ts'
import { objectsResult } from './objects-result.ts'
import { readFileFlag } from './read-file-flag.ts'

type Flags = FlagValues<typeof backupLocationCreateFlags>

/** `backup-location create NAME`: sends the location to the cluster, or with `-o` shows it instead. */
export async function run(call: CommandCall<typeof backupLocationCreateFlags>): Promise<CommandResult> {
  const { flags } = call
  const { namespace } = await call.settings()
  const caCert = flags.cacert ? await readFileFlag('cacert', flags.cacert) : undefined
  const location = newLocation({ name: call.args[0] ?? '', namespace, flags, caCert })
  if (flags.output !== undefined) return show(location, flags)

  await using client = await call.connect()
  const locations = locationClient(client, namespace, call.surroundings.signal)
  if (flags.default) refuseSecondDefault(await locations.list())
  await locations.create(location)
  return {
    show: 'lines',
    lines: [`Backup storage location "${location.metadata.name}" configured successfully.`],
  }
}

/** What a new location is made of. */
export interface NewLocation {
  readonly name: string
  readonly namespace: string
  readonly flags: Flags
  readonly caCert?: Uint8Array | undefined
}

/** Builds the object. Throws a CliError for missing or senseless flags. */
export function newLocation({ name, namespace, flags, caCert }: NewLocation): BackupStorageLocation {
  const provider = required('provider', flags.provider)
  const bucket = required('bucket', flags.bucket)
  const credential = credentialOf(flags.credential)
  refuseNegative('backup-sync-period', flags['backup-sync-period'])
  refuseNegative('validation-frequency', flags['validation-frequency'])
  return {
    apiVersion: apiVersionOf(BackupStorageLocationKind),
    kind: BackupStorageLocationKind.kind,
    metadata: { name, namespace, ...unlessEmpty('labels', flags.labels) },
    spec: {
      provider,
      objectStorage: {
        bucket,
        ...(flags.prefix ? { prefix: flags.prefix } : {}),
        ...(caCert === undefined ? {} : { caCert: Buffer.from(caCert).toString('base64') }),
      },
      ...unlessEmpty('config', flags.config),
      ...(credential === undefined ? {} : { credential }),
      ...(flags.default ? { default: true } : {}),
      accessMode: flags['access-mode'] === 'ReadOnly' ? 'ReadOnly' : 'ReadWrite',
      ...durationField('backupSyncPeriod', flags['backup-sync-period']),
      ...durationField('validationFrequency', flags['validation-frequency']),
    },
  }
}

function required(flag: string, value: string | undefined): string {
  if (value) return value
  throw new CliError('USAGE', `--${flag} is required`, {
    hint: "run 'lateen backup-location create --help' for all flags",
  })
}

function refuseNegative(flag: string, value: Flags['backup-sync-period']): void {
  if (value !== undefined && value.nanoseconds < 0n) {
    throw new CliError('USAGE', `--${flag} must not be negative, and ${value.text} is`)
  }
}

function unlessEmpty<K extends string>(
  key: K,
  map: Record<string, string>,
): { [P in K]?: Record<string, string> } {
  return Object.keys(map).length === 0 ? {} : ({ [key]: map } as { [P in K]?: Record<string, string> })
}

function durationField<K extends string>(key: K, value: Flags['backup-sync-period']): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value.text } as { [P in K]?: string })
}

function refuseSecondDefault(existing: readonly BackupStorageLocation[]): void {
  const current = existing.find(location => location.spec.default)
  if (current === undefined) return
  throw new CliError('REFUSED', `"${current.metadata.name}" is already the default backup storage location`, {
    hint: `leave --default out, or first run 'lateen backup-location set ${current.metadata.name} --default=false'`,
  })
}

function show(location: BackupStorageLocation, flags: Flags): CommandResult {
  return objectsResult(BackupStorageLocationKind, {
    objects: [location],
    columns: backupLocationColumns,
    flags,
  })
}
