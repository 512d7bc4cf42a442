import { type VolumeSnapshotLocation, VolumeSnapshotLocationKind } from '@lateen/api'
import { isNotFound, type KubeClient } from '@lateen/kube'
import { isPluginError, PluginError, type VolumeSnapshotter } from '@lateen/plugin'
import type { CredentialFiles } from '../backup-store/credential-files.ts'
import type { ReadSecretKey } from '../backup-store/read-secret-key.ts'
import { serverKeyProblem } from '../backup-store/server-keys.ts'
import { messageOf } from '../item/item-error.ts'
import type { PluginSession } from '../plugin-host/plugin-session.ts'
import { SnapshotLocationError } from './snapshot-location-error.ts'

/** Where snapshot locations and their credentials come from. */
export interface SnapshotLocationPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  readSecretKey: ReadSecretKey
  credentialFiles: CredentialFiles
}

/** The snapshotters of one session, by location. Each is initialised once; one that could not be is tried again. */
export interface Snapshotters {
  /** Throws SnapshotLocationError, a PluginError when the plugin could not be reached, a KubeError when the API server does not answer. */
  of(location: VolumeSnapshotLocation, signal: AbortSignal): Promise<VolumeSnapshotter>
  /** The one of the location of that name. Throws as `of` does. */
  named(location: string, signal: AbortSignal): Promise<VolumeSnapshotter>
}

/** Opens the snapshotters of a session. */
export type OpenSnapshotters = (plugins: PluginSession) => Snapshotters

/** Knows the snapshot locations of a server. */
export function snapshotterOpener(ports: SnapshotLocationPorts): OpenSnapshotters {
  return plugins => {
    const once = oncePerName<VolumeSnapshotter>()
    const open = (location: VolumeSnapshotLocation, signal: AbortSignal) =>
      openSnapshotter(location, { ...ports, plugins }, signal)
    return {
      of: (location, signal) => once(location.metadata.name ?? '', signal, () => open(location, signal)),
      named: (name, signal) =>
        once(name, signal, async () => open(await readLocation(name, ports, signal), signal)),
    }
  }
}

/**
 * Opens the snapshotter of a location for questions about snapshots that are under way. What can be put right while they are, such as a
 * secret that is missing, is thrown as UNAVAILABLE.
 */
export function snapshotterOfOperation(snapshotters: Snapshotters): Snapshotters['named'] {
  return async (location, signal) => {
    try {
      return await snapshotters.named(location, signal)
    } catch (error) {
      if (!(error instanceof SnapshotLocationError)) throw error
      if (error.code === 'SNAPSHOT_PROVIDER_UNKNOWN') throw error
      const { message: reason, hint } = error
      throw new PluginError('UNAVAILABLE', { reason, hint, cause: error })
    }
  }
}

/** Shares what is being made or was made under a name. What failed is made anew, also for those who waited for a caller that gave up. */
function oncePerName<T>(): (name: string, signal: AbortSignal, make: () => Promise<T>) => Promise<T> {
  const known = new Map<string, { making: Promise<T>; signal: AbortSignal }>()
  return async (name, signal, make) => {
    for (;;) {
      let one = known.get(name)
      if (one === undefined) {
        const making = make()
        one = { making, signal }
        known.set(name, one)
        making.catch(() => known.delete(name))
      }
      try {
        return await one.making
      } catch (error) {
        signal.throwIfAborted()
        if (!one.signal.aborted) throw error
      }
    }
  }
}

async function readLocation(
  name: string,
  { client, namespace }: SnapshotLocationPorts,
  signal: AbortSignal,
): Promise<VolumeSnapshotLocation> {
  try {
    return await client.resource(VolumeSnapshotLocationKind, namespace).get(name, { signal })
  } catch (cause) {
    if (!isNotFound(cause)) throw cause
    throw new SnapshotLocationError('SNAPSHOT_LOCATION_NOT_FOUND', name, {
      reason: `VolumeSnapshotLocation.velero.io "${name}" not found`,
      hint: 'create the location again, with the settings that it had when the snapshot was taken',
      cause,
    })
  }
}

async function openSnapshotter(
  location: VolumeSnapshotLocation,
  ports: SnapshotLocationPorts & { plugins: PluginSession },
  signal: AbortSignal,
): Promise<VolumeSnapshotter> {
  const snapshotter = snapshotterOf(location, ports.plugins)
  const problem = serverKeyProblem(location.spec.config)
  if (problem !== undefined) {
    throw unusable('SNAPSHOT_LOCATION_REFUSED', location, new Error(`${problem.reason}. ${problem.hint}`))
  }
  const credentialsFile = await credentialsFileOf(location, ports, signal)
  const config = { ...location.spec.config, ...(credentialsFile !== undefined && { credentialsFile }) }
  try {
    await snapshotter.init({ config, signal })
  } catch (cause) {
    signal.throwIfAborted()
    if (isPluginError(cause) && cause.transport) throw cause
    throw unusable('SNAPSHOT_LOCATION_REFUSED', location, cause)
  }
  return snapshotter
}

function snapshotterOf(location: VolumeSnapshotLocation, plugins: PluginSession): VolumeSnapshotter {
  try {
    return plugins.volumeSnapshotter(location.spec.provider)
  } catch (cause) {
    throw isPluginError(cause, 'NO_SUCH_PLUGIN')
      ? unusable('SNAPSHOT_PROVIDER_UNKNOWN', location, cause)
      : cause
  }
}

async function credentialsFileOf(
  location: VolumeSnapshotLocation,
  { readSecretKey, credentialFiles }: SnapshotLocationPorts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { credential } = location.spec
  if (credential === undefined) return undefined
  const { name = '', key } = credential
  const reference = { name, key, field: 'spec.credential' }
  try {
    if (name === '') throw new Error('spec.credential names no secret')
    return await credentialFiles.write(reference, await readSecretKey(reference, signal))
  } catch (cause) {
    signal.throwIfAborted()
    throw unusable('SNAPSHOT_CREDENTIAL_UNREADABLE', location, cause)
  }
}

const hints = {
  SNAPSHOT_PROVIDER_UNKNOWN: 'correct spec.provider, or install the plugin',
  SNAPSHOT_CREDENTIAL_UNREADABLE: 'correct spec.credential, or create the secret',
  SNAPSHOT_LOCATION_REFUSED: 'correct spec.config and spec.credential',
} as const

function unusable(
  code: keyof typeof hints,
  { metadata }: VolumeSnapshotLocation,
  cause: unknown,
): SnapshotLocationError {
  const name = metadata.name ?? ''
  const reason = `the volume snapshot location ${name} cannot be used: ${messageOf(cause)}`
  return new SnapshotLocationError(code, name, { reason, hint: hints[code], cause })
}
