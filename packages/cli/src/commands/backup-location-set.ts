import type { BackupStorageLocation } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupLocationSetFlags } from '../tree/backup-location.ts'
import type { CommandCall } from '../tree/command.ts'
import { credentialOf } from './credential-flag.ts'
import { locationClient } from './location-client.ts'
import { readFileFlag } from './read-file-flag.ts'

/** What is to change; what is absent stays. An empty `caCert` removes the certificates. */
export interface LocationChange {
  readonly default?: boolean | undefined
  readonly credential?: { readonly name: string; readonly key: string } | undefined
  readonly caCert?: Uint8Array | undefined
}

/** `backup-location set NAME`: changes only what flags name. */
export async function run(call: CommandCall<typeof backupLocationSetFlags>): Promise<CommandResult> {
  const name = call.args[0] ?? ''
  const { namespace } = await call.settings()
  const change: LocationChange = {
    default: call.flags.default,
    credential: credentialOf(call.flags.credential),
    caCert: await certificates(call.flags.cacert),
  }
  await using client = await call.connect()
  const locations = locationClient(client, namespace, call.surroundings.signal)
  const location = await locations.get(name)
  if (change.default === true) {
    const others = (await locations.list()).filter(
      other => other.spec.default && other.metadata.name !== name,
    )
    refuseSecondDefault(others)
    if (location.spec.default && change.credential === undefined && change.caCert === undefined) {
      return said(`Backup storage location "${name}" is already the default backup storage location.`)
    }
  }
  await locations.patch(name, { type: 'merge', body: { spec: changedSpec(change) } })
  return said(`Backup storage location "${name}" configured successfully.`)
}

/** The merge patch of a location's spec. */
export function changedSpec(change: LocationChange): object {
  const { caCert, credential } = change
  return {
    ...(change.default === undefined ? {} : { default: change.default }),
    ...(credential === undefined ? {} : { credential: { ...credential } }),
    ...(caCert === undefined ? {} : { objectStorage: certificateFields(caCert) }),
  }
}

function certificateFields(caCert: Uint8Array): object {
  if (caCert.length === 0) return { caCert: null }
  // A location with both kinds of certificates is invalid; the newer wish wins.
  return { caCert: Buffer.from(caCert).toString('base64'), caCertRef: null }
}

async function certificates(file: string | undefined): Promise<Uint8Array | undefined> {
  if (file === undefined) return undefined
  return file === '' ? new Uint8Array() : readFileFlag('cacert', file)
}

function refuseSecondDefault(others: readonly BackupStorageLocation[]): void {
  if (others.length === 0) return
  const names = others.map(other => other.metadata.name)
  throw new CliError('REFUSED', `there is a default backup storage location already: ${names.join(', ')}`, {
    hint: `first run 'lateen backup-location set ${names[0]} --default=false'`,
  })
}

function said(line: string): CommandResult {
  return { show: 'lines', lines: [line] }
}
