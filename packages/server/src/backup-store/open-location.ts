import type { AccessMode, BackupStorageLocation, SecretKeySelector } from '@lateen/api'
import { type Patience, patiently } from '@lateen/kube'
import { type ObjectStore, ObjectStoreError, portableKeyProblem } from '@lateen/plugin'
import type { ObjectStoreRegistry } from '../object-store/registry.ts'
import { type BucketLayout, bucketLayout, withoutOuterSlashes } from './bucket-layout.ts'
import type { CredentialFiles } from './credential-files.ts'
import type { ReadSecretKey } from './read-secret-key.ts'
import { serverKeyProblem } from './server-keys.ts'

export interface LocationPorts {
  objectStores: ObjectStoreRegistry
  readSecretKey: ReadSecretKey
  credentialFiles: CredentialFiles
}

/** A location whose store is ready for use. Disposing closes the store. */
export interface OpenLocation extends AsyncDisposable {
  readonly store: ObjectStore
  readonly bucket: string
  readonly layout: BucketLayout
  readonly accessMode: AccessMode
}

/**
 * Turns a location into its object store: reads its secrets, makes the provider's store, initialises it. Throws
 * `ObjectStoreError` or `SecretError` naming the field at fault, and KubeErrors when the API server does not answer.
 */
export async function openLocation(
  location: BackupStorageLocation,
  ports: LocationPorts,
  signal?: AbortSignal,
): Promise<OpenLocation> {
  const { provider, objectStorage, accessMode = 'ReadWrite' } = location.spec
  const bucket = bucketName(objectStorage.bucket)
  const layout = layoutBelow(objectStorage.prefix)
  const store = ports.objectStores.create(provider)
  try {
    const config = await locationConfig(location, ports, signal)
    await store.init({ config, accessMode, ...(signal && { signal }) })
    return { store, bucket, layout, accessMode, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() }
  } catch (error) {
    await store[Symbol.asyncDispose]()
    throw error
  }
}

/** The same for work that would fail with it: an API server that is away for a minute or two is waited for. */
export function openPatiently(
  location: BackupStorageLocation,
  ports: LocationPorts,
  patience: Patience,
): Promise<OpenLocation> {
  return patiently(() => openLocation(location, ports, patience.signal), patience)
}

/**
 * The settings of a location as its store takes them: with bucket, prefix, the certificate, and the secret as a file. Throws as
 * `openLocation` does.
 */
export async function locationConfig(
  location: BackupStorageLocation,
  ports: Pick<LocationPorts, 'readSecretKey' | 'credentialFiles'>,
  signal?: AbortSignal,
): Promise<Record<string, string>> {
  const { config, objectStorage } = location.spec
  const problem = serverKeyProblem(config)
  if (problem !== undefined) throw new ObjectStoreError('INVALID_CONFIG', problem)
  const bucket = bucketName(objectStorage.bucket)
  const caCert = await caCertificateOf(location, ports, signal)
  const credentialsFile = await credentialsFileOf(location, ports, signal)
  return {
    ...config,
    bucket,
    prefix: layoutBelow(objectStorage.prefix).root.slice(0, -1),
    ...(caCert !== undefined && { caCert }),
    ...(credentialsFile !== undefined && { credentialsFile }),
  }
}

/** The bucket without outer slashes. Throws INVALID_CONFIG for an empty one and for one that contains a prefix. */
export function bucketName(written: string): string {
  const bucket = withoutOuterSlashes(written)
  if (bucket !== '' && !bucket.includes('/')) return bucket
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason:
      bucket === ''
        ? 'spec.objectStorage.bucket is empty'
        : `spec.objectStorage.bucket ${quoted(written)} contains a "/"`,
    hint: bucket === '' ? 'Name a bucket' : 'Put what follows the slash into spec.objectStorage.prefix',
  })
}

/** For messages, which become part of the location. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}

/** The layout below a prefix. Throws INVALID_CONFIG for one that a store could take for a way out of it. */
function layoutBelow(prefix: string | undefined): BucketLayout {
  const layout = bucketLayout(prefix)
  const problem = layout.root === '' ? undefined : portableKeyProblem(layout.root.slice(0, -1))
  if (problem === undefined) return layout
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: `spec.objectStorage.prefix ${quoted(prefix ?? '')} cannot be used: ${problem}`,
    hint: 'Write it as names with a "/" between them',
  })
}

async function caCertificateOf(
  { spec }: BackupStorageLocation,
  ports: Pick<LocationPorts, 'readSecretKey'>,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { caCert, caCertRef } = spec.objectStorage
  if (caCert !== undefined && caCertRef !== undefined) {
    throw new ObjectStoreError('INVALID_CONFIG', {
      reason: 'spec.objectStorage has both caCert and caCertRef',
      hint: 'Keep one of them',
    })
  }
  if (caCert !== undefined) return Buffer.from(caCert, 'base64').toString()
  if (caCertRef === undefined) return undefined
  const reference = referenceOf(caCertRef, 'spec.objectStorage.caCertRef')
  return Buffer.from(await ports.readSecretKey(reference, signal)).toString()
}

async function credentialsFileOf(
  { spec }: BackupStorageLocation,
  ports: Pick<LocationPorts, 'readSecretKey' | 'credentialFiles'>,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (spec.credential === undefined) return undefined
  const reference = referenceOf(spec.credential, 'spec.credential')
  return ports.credentialFiles.write(reference, await ports.readSecretKey(reference, signal))
}

function referenceOf({ name, key }: SecretKeySelector, field: string) {
  if (name !== undefined && name !== '') return { name, key, field }
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: `${field} names no secret`,
    hint: `Set ${field}.name and ${field}.key`,
  })
}
