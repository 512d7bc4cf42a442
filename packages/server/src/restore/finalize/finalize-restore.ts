import { cancelledByRequest, type Restore } from '@lateen/api'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import { whyUnfilled } from '../../csi/decide-restored-pair.ts'
import type { SweptPairs } from '../../csi/restored-pairs.ts'
import type { RestoreOperation } from '../../operations/restore-operation.ts'
import type { ResourceList } from '../../report/resource-list.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'
import { RestoreReport } from '../items/restore-report.ts'
import { addResults } from './add-results.ts'
import { type FinishClaimsPorts, finishClaims, type UnfinishedClaim } from './finish-claims.ts'
import { isProvisionedAnew, type ProvisionedClaim, provisionedClaims } from './provisioned-claims.ts'
import { removeRestoredSnapshots } from './remove-restored-snapshots.ts'

/** What finalizing added to a restore. */
export interface Finalized {
  warnings: number
  errors: number
}

export interface FinalizePorts extends FinishClaimsPorts {
  /** Where the backup and the files of the restore are. */
  store: BackupStore
  /** Whether somebody asked for the end of the restore. */
  isCancelled(): boolean
}

/**
 * Does what is left once everything is restored: new volumes get the properties of the old ones, and the snapshots go that they were
 * filled from. One that is cancelled does not wait for volumes. What could not be done is added to the restore's results. May be repeated.
 * Throws ObjectStoreError and the signal's reason.
 */
export async function finalizeRestore(
  restore: Restore,
  ports: FinalizePorts,
  signal: AbortSignal,
): Promise<Finalized> {
  const claims = await claimsOf(restore, ports.store, signal)
  const report = new RestoreReport(ports.log)
  const isWanted = () => ports.isWanted() && !ports.isCancelled()
  const giveUp = ports.clock.now() + ports.timeoutMs
  const unfinished = await finishClaims(claims, { ...ports, isWanted }, signal)
  for (const { claim, error } of unfinished) {
    const { namespace, name } = claim
    const fields = { resource: 'persistentvolumeclaims', name }
    report.error({ place: { namespace }, error, message: 'A new volume is not like the old one', fields })
  }
  const left = await removeRestoredSnapshots(restore, { ...ports, isWanted, giveUp }, signal)
  tellOfSnapshots(left, { report, unfinished })
  if (ports.isCancelled()) {
    const error = `${cancelledByRequest}: what was restored stays in the cluster`
    report.error({ place: 'restore', error, message: 'The restore was cancelled' })
  }
  const { warnings, errors } = report
  if (warnings + errors > 0 && ports.isWanted()) {
    await addResults(restore, report.results, { store: ports.store, signal })
  }
  return { warnings, errors }
}

/** What fills a claim that is late anyway is worth knowing; a claim that nobody else waited for is an error. */
function tellOfSnapshots(
  { waiting, failed }: SweptPairs,
  { report, unfinished }: { report: RestoreReport; unfinished: readonly UnfinishedClaim[] },
): void {
  for (const { pair, error } of failed) {
    const { namespace, name } = pair
    const fields = { resource: 'volumesnapshots.snapshot.storage.k8s.io', name }
    report.warn({ place: { namespace }, error, message: 'A restored snapshot is left for now', fields })
  }
  for (const { pair, claim } of waiting) {
    const { namespace } = pair
    const { name = '' } = claim.metadata
    const error = `persistentvolumeclaims/${namespace}/${name} has no volume yet: ${whyUnfilled(pair)}`
    const fields = { resource: 'persistentvolumeclaims', name }
    const told = { place: { namespace }, error, message: 'A claim is not filled from its snapshot', fields }
    const isTold = unfinished.some(each => each.claim.namespace === namespace && each.claim.name === name)
    if (isTold) report.warn(told)
    else report.error(told)
  }
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
