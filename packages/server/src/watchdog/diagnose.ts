import type { VolumeSnapshot } from '../csi/snapshot-kinds.ts'
import { abandonedDeletions } from './abandoned-deletions.ts'
import { type BucketReport, oldUnclaimed, unclaimedFindings } from './bucket-report.ts'
import { findStuck, stuckFinding } from './find-stuck.ts'
import { type Finding, quoted } from './finding.ts'
import { leftFindings, leftSnapshots, ownerlessFindings, ownerlessSnapshots } from './left-snapshots.ts'
import type { PhasedObject } from './stuck-rules.ts'
import { type ClusterObjects, unreferencedObjects } from './unreferenced-objects.ts'

/** All that a diagnosis looks at. */
export interface DiagnosisFacts {
  readonly namespace: string
  readonly objects: ClusterObjects
  /** Objects that could be stuck, and to which nothing else refers. */
  readonly others: readonly PhasedObject[]
  /** Snapshots with the label of a backup, in all namespaces. */
  readonly snapshots: readonly VolumeSnapshot[]
  /** What snapshots may belong to in all namespaces; undefined for whoever may not look there. */
  readonly everywhere: Pick<ClusterObjects, 'backups'> | undefined
  /** What the server says about the bucket of each location. */
  readonly reports: ReadonlyMap<string, BucketReport | undefined>
  /** The request to look at the buckets, which reports repeat that answer it; undefined for whoever may not ask. */
  readonly look: string | undefined
  /** What nothing refers to in a bucket counts once it has been there for so long. */
  readonly unclaimedAgeMs: number
  /** Milliseconds since 1970. */
  readonly now: number
}

/** What is stuck, and what nothing refers to. */
export function diagnose(facts: DiagnosisFacts): Finding[] {
  const { objects, others, now } = facts
  const { backups, restores, deleteRequests, repositories } = objects
  const { podVolumeBackups, podVolumeRestores, dataUploads, dataDownloads } = objects
  const moves = [...podVolumeBackups, ...podVolumeRestores, ...dataUploads, ...dataDownloads]
  const phased = [...backups, ...restores, ...deleteRequests, ...moves, ...repositories, ...others]
  return [
    ...findStuck(phased, now).map(stuckFinding),
    ...abandonedDeletions(backups, deleteRequests).map(stuckFinding),
    ...unreferencedObjects(objects),
    ...leftFindings(leftSnapshots(facts.snapshots, backups)),
    ...ownerless(facts),
    ...objects.locations.flatMap(location => {
      const report = facts.reports.get(location.metadata.name ?? '')
      const old = report ? oldUnclaimed(report, { now, ageMs: facts.unclaimedAgeMs }) : []
      return [
        ...notExamined(location.metadata.name ?? '', report, facts),
        ...old.flatMap(found => unclaimedFindings(found, location)),
      ]
    }),
  ]
}

function ownerless({ objects, everywhere, snapshots, now }: DiagnosisFacts): Finding[] {
  // Backups of this namespace are seen later than those of all, and some may be new.
  const backups = [...(everywhere?.backups ?? []), ...objects.backups]
  return ownerlessFindings(ownerlessSnapshots(snapshots, backups, now), { areAll: everywhere !== undefined })
}

function notExamined(name: string, report: BucketReport | undefined, facts: DiagnosisFacts): Finding[] {
  const finding = { type: 'not-examined', subject: `The bucket of location ${name}` } as const
  if (facts.look === undefined ? report === undefined : report?.look !== facts.look) {
    return [{ ...finding, ...unanswered(report, facts) }]
  }
  if (report?.problem !== undefined) {
    const problem = `could not be looked through: ${report.problem}`
    return [{ ...finding, problem, mend: `lateen backup-location get ${quoted(name)}` }]
  }
  if (report === undefined || report.more === 0) return []
  const problem = `has ${report.more} more keys and folders that nothing refers to`
  return [{ ...finding, problem, mend: 'lateen doctor' }]
}

function unanswered(
  report: BucketReport | undefined,
  { look, namespace }: DiagnosisFacts,
): Pick<Finding, 'problem' | 'mend'> {
  if (look === undefined) {
    const problem =
      'was not looked through: this account may not change ConfigMaps, which is how to ask the server'
    return { problem, mend: `kubectl auth can-i patch configmaps --namespace ${quoted(namespace)}` }
  }
  const known = report === undefined ? '' : `; what is said about it is what was seen at ${report.at}`
  return {
    problem: `was not looked through: no Lateen server answered in time${known}`,
    mend: `kubectl rollout restart deployment/velero --namespace ${quoted(namespace)}`,
  }
}
