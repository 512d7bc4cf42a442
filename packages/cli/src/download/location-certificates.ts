import { type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { builtInKind, type KubeObject, unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { Place } from '../commands/object-client.ts'

interface Secret extends KubeObject {
  data?: Record<string, string>
}

const SecretKind = builtInKind<Secret>('Secret')

/**
 * The certificates (PEM) that a backup location names for its object store; undefined when it names none or is gone.
 * Throws a CliError when they are named and not there, and KubeErrors.
 */
export async function locationCertificates(name: string, place: Place): Promise<string | undefined> {
  const { client, namespace, signal } = place
  const location = await client
    .resource(BackupStorageLocationKind, namespace)
    .get(name, { signal })
    .catch(unlessNotFound)
  return location === undefined ? undefined : certificatesOf(location, place)
}

async function certificatesOf(
  { spec }: BackupStorageLocation,
  { client, namespace, signal }: Place,
): Promise<string | undefined> {
  const { caCert, caCertRef } = spec.objectStorage
  if (!caCertRef) return caCert ? Buffer.from(caCert, 'base64').toString() : undefined
  const { name = '', key } = caCertRef
  const secret = await client.resource(SecretKind, namespace).get(name, { signal }).catch(unlessNotFound)
  if (secret === undefined) {
    throw new CliError('NOT_FOUND', `certificate secret ${name} not found in namespace ${namespace}`)
  }
  const text = secret.data?.[key]
  if (text === undefined) throw new CliError('NOT_FOUND', `key ${key} not found in secret ${name}`)
  return Buffer.from(text, 'base64').toString()
}
