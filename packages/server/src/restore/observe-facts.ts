import { BackupKind, BackupStorageLocationKind, labelNames, type Restore, validLabelValue } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'
import { configMapData } from '../filters/policies/config-map-data.ts'
import { InvalidModifiersError, parseModifiers } from './modifiers/parse-modifiers.ts'
import type { ResourceModifiers } from './modifiers/resource-modifiers.ts'
import type { BackupChoices } from './prepare/choose-backup.ts'
import type { RestoreFacts } from './prepare/prepare-restore.ts'

export interface RestoreFactPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  signal: AbortSignal
}

/** What was observed, and the rules that were among it. */
export interface ObservedRestore {
  facts: RestoreFacts
  modifiers?: ResourceModifiers | undefined
}

/** Reads what `prepareRestore` needs to know. Throws KubeErrors when the API server does not answer. */
export async function observeRestore(restore: Restore, ports: RestoreFactPorts): Promise<ObservedRestore> {
  const { client, namespace, signal } = ports
  const choices = {
    backups: await candidates(restore, ports),
    locations: await client.resource(BackupStorageLocationKind, namespace).list({ signal }).toArray(),
  }
  return observeRestoreOf(choices, restore, ports)
}

/** The same for backups that were found elsewhere. */
export async function observeRestoreOf(
  choices: BackupChoices,
  restore: Restore,
  ports: RestoreFactPorts,
): Promise<ObservedRestore> {
  const { client, signal } = ports
  await client.discovery.refresh({ signal })
  const modifiers = await readModifiers(restore.spec.resourceModifier?.name ?? '', ports)
  const facts: RestoreFacts = {
    ...choices,
    discovery: await client.discovery.all({ signal }),
    policies: await configMapData(restore.spec.resourcePolicy?.name ?? '', ports),
    modifiers: modifiers && { problems: modifiers.problems },
  }
  return { facts, modifiers: modifiers?.rules }
}

/** The backup that the restore names, or all of its schedule. */
async function candidates({ spec }: Restore, { client, namespace, signal }: RestoreFactPorts) {
  const backups = client.resource(BackupKind, namespace)
  if (spec.scheduleName) {
    const labelSelector = `${labelNames.scheduleName}=${validLabelValue(spec.scheduleName)}`
    return backups.list({ labelSelector, signal }).toArray()
  }
  if (!spec.backupName) return []
  const backup = await backups.get(spec.backupName, { signal }).catch(unlessNotFound)
  return backup === undefined ? [] : [backup]
}

async function readModifiers(
  name: string,
  ports: RestoreFactPorts,
): Promise<{ problems: readonly string[]; rules?: ResourceModifiers } | undefined> {
  const data = await configMapData(name, ports)
  if (data === undefined) return undefined
  try {
    return { problems: [], rules: parseModifiers(data) }
  } catch (error) {
    if (error instanceof InvalidModifiersError) return { problems: error.problems }
    throw error
  }
}
