import type { Restore } from '@lateen/api'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import type { RestoreOperation } from '../../operations/restore-operation.ts'
import type { ResultList, Results } from '../../report/report.ts'
import type { ResourceList } from '../../report/resource-list.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'
import { mergeResults } from '../hooks/merge-results.ts'
import { RestoreReport } from '../items/restore-report.ts'
import { type FinishClaimsPorts, finishClaims } from './finish-claims.ts'
import { isProvisionedAnew, type ProvisionedClaim, provisionedClaims } from './provisioned-claims.ts'

/** What finalizing added to a restore. */
export interface Finalized {
  warnings: number
  errors: number
}

export interface FinalizePorts extends FinishClaimsPorts {
  /** Where the backup and the files of the restore are. */
  store: BackupStore
}

/**
 * Does what is left once everything is restored: new volumes get the properties of the old ones. What could not be done is added to the
 * restore's results. May be repeated. Throws ObjectStoreError and the signal's reason.
 */
export async function finalizeRestore(
  restore: Restore,
  ports: FinalizePorts,
  signal: AbortSignal,
): Promise<Finalized> {
  const claims = await claimsOf(restore, ports.store, signal)
  const report = new RestoreReport(ports.log)
  for (const { claim, error } of await finishClaims(claims, ports, signal)) {
    const { namespace, name } = claim
    const fields = { resource: 'persistentvolumeclaims', name }
    report.error({ place: { namespace }, error, message: 'A new volume is not like the old one', fields })
  }
  const { warnings, errors } = report
  if (warnings + errors > 0 && ports.isWanted()) await addResults(restore, report.results, { ports, signal })
  return { warnings, errors }
}

async function claimsOf(
  { metadata, spec }: Restore,
  store: BackupStore,
  signal: AbortSignal,
): Promise<ProvisionedClaim[]> {
  const backup = { of: 'backup', name: spec.backupName ?? '' } as const
  const mine = { of: 'restore', name: metadata.name ?? '' } as const
  const volumeInfo = listIn<VolumeInfo>(await store.getJson({ ...backup, file: 'volumeInfo' }, signal))
  if (!volumeInfo.some(isProvisionedAnew)) return []
  const resourceList = await store.getJson({ ...mine, file: 'resourceList' }, signal)
  const operations = await store.getJson({ ...mine, file: 'itemOperations' }, signal)
  return provisionedClaims({
    volumeInfo,
    namespaceMapping: spec.namespaceMapping ?? {},
    resourceList: (resourceList ?? {}) as ResourceList,
    operations: listIn<RestoreOperation>(operations),
  })
}

function listIn<T>(json: unknown): T[] {
  return Array.isArray(json) ? json : []
}

async function addResults(
  { metadata }: Restore,
  added: Results,
  { ports, signal }: { ports: FinalizePorts; signal: AbortSignal },
): Promise<void> {
  const file = { of: 'restore', name: metadata.name ?? '', file: 'results' } as const
  const stored = ((await ports.store.getJson(file, signal)) ?? {}) as Partial<Results>
  const known = { errors: stored.errors ?? {}, warnings: stored.warnings ?? {} }
  await ports.store.putJson(file, mergeResults(known, withoutKnown(added, known)), signal)
}

/** One who died after this file was stored begins again, and would tell everything twice. */
function withoutKnown(added: Results, known: Results): Results {
  return {
    errors: listWithoutKnown(added.errors, known.errors),
    warnings: listWithoutKnown(added.warnings, known.warnings),
  }
}

function listWithoutKnown(added: ResultList, known: ResultList): ResultList {
  const fresh = (texts: string[] = [], old: string[] = []) => texts.filter(text => !old.includes(text))
  const namespaces = Object.entries(added.namespaces ?? {}).map(
    ([name, texts]) => [name, fresh(texts, known.namespaces?.[name])] as const,
  )
  return {
    velero: fresh(added.velero, known.velero),
    cluster: fresh(added.cluster, known.cluster),
    namespaces: Object.fromEntries(namespaces.filter(([, texts]) => texts.length > 0)),
  }
}
