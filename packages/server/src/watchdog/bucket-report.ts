import { type BackupStorageLocation, formatTime, lateenAnnotation } from '@lateen/api'
import { withoutOuterSlashes } from '../backup-store/bucket-layout.ts'
import { type Finding, quoted } from './finding.ts'
import type { BucketSurvey } from './survey-bucket.ts'
import type { Unclaimed } from './unclaimed.ts'

/** The ConfigMap in which a server says what it has found in the buckets: one report for each location, by its name. */
export const reportMapName = 'lateen-watchdog'

/** On that ConfigMap: asks the server to look at the buckets now. A report repeats the value of the request that it answers. */
export const lookAnnotation = lateenAnnotation('look')

/** What a server has found in the bucket of a location. */
export interface BucketReport {
  /** When, in RFC 3339. */
  readonly at: string
  /** Of which bucket it is; a location may be given another one. */
  readonly bucket: string
  /** The request that it answers. */
  readonly look?: string | undefined
  /** Why the bucket could not be looked at. */
  readonly problem?: string | undefined
  readonly unclaimed: readonly SeenUnclaimed[]
  /** How many more there are that are not named. */
  readonly more: number
}

export interface SeenUnclaimed extends Unclaimed {
  /** When it was seen for the first time, in RFC 3339: object stores do not tell how old something is. */
  readonly firstSeen: string
}

/** What a report is made from. */
export interface ReportFacts {
  /** The last one about the same bucket. */
  readonly before: BucketReport | undefined
  readonly bucket: string
  readonly look: string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Which bucket a location means. */
export function bucketOf({ spec }: BackupStorageLocation): string {
  const { provider, config = {}, objectStorage } = spec
  return [provider, config?.s3Url ?? config?.path ?? '', objectStorage.bucket].join(' ')
}

/** A report of today's survey, with what yesterday's says about how long things have been there. */
export function newReport(survey: BucketSurvey, { before, bucket, now, look }: ReportFacts): BucketReport {
  const known = new Map(before?.unclaimed.map(({ type, key, firstSeen }) => [`${type} ${key}`, firstSeen]))
  const at = formatTime(now)
  const unclaimed = survey.unclaimed.map(found => {
    const firstSeen = known.get(`${found.type} ${found.key}`) ?? at
    return { ...found, firstSeen: firstSeen < at ? firstSeen : at }
  })
  return { at, bucket, ...(look !== undefined && { look }), unclaimed, more: survey.more }
}

/** A report that the bucket could not be looked at. What was known stays. */
export function failedReport(problem: string, { before, bucket, now, look }: ReportFacts): BucketReport {
  const { unclaimed = [], more = 0 } = before ?? {}
  return { at: formatTime(now), bucket, ...(look !== undefined && { look }), problem, unclaimed, more }
}

/** What `JSON.stringify` made of a report; undefined for anything else. */
export function parseReport(text: string | undefined): BucketReport | undefined {
  try {
    const report = JSON.parse(text ?? '')
    const isReport = typeof report?.at === 'string' && Array.isArray(report.unclaimed)
    return isReport ? { more: 0, ...report } : undefined
  } catch {
    return undefined
  }
}

/** Those that have been there for at least so long. What is younger may still be written, or was just left. */
export function oldUnclaimed(
  report: BucketReport,
  { now, ageMs }: { now: number; ageMs: number },
): SeenUnclaimed[] {
  return report.unclaimed.filter(({ firstSeen }) => now - Date.parse(firstSeen) >= ageMs)
}

const problems: Readonly<Record<Unclaimed['type'], string>> = {
  'unfinished-backup': 'has no velero-backup.json and no Backup object: no backup was finished here',
  'half-deleted-backup':
    'has no velero-backup.json any more: someone has begun to delete this backup, and it cannot be relied on',
  'restore-files':
    'has the files of a restore that this cluster does not know; other clusters that use the bucket may',
  journal: 'has notes about operations that have ended',
  'stray-key': 'belongs to no backup and no restore',
}

/** What lies unclaimed in a location's bucket, for people. */
export function unclaimedFindings(found: SeenUnclaimed, location: BackupStorageLocation): Finding[] {
  const { type, key, keys, firstSeen, snapshots = [] } = found
  const where = `in location ${location.metadata.name}`
  const count = keys === 1 ? '' : ` (${keys} keys)`
  return [
    ...snapshots.map(
      (snapshot): Finding => ({
        type: 'snapshot',
        subject: `Snapshot ${snapshot}`,
        problem: `is known only to ${key} ${where}, which is no backup`,
        since: firstSeen,
        mend: `# delete it with the tools of its provider, before ${key}`,
      }),
    ),
    {
      type,
      subject: `${key} ${where}`,
      problem: `${problems[type]}${count}`,
      since: firstSeen,
      mend: removal(found, location),
    },
  ]
}

function removal({ type, key }: Unclaimed, { metadata, spec }: BackupStorageLocation): string {
  if (type === 'half-deleted-backup') {
    const name = key.split('/').at(-2) ?? ''
    return `lateen backup delete ${quoted(name)} --namespace ${quoted(metadata.namespace ?? '')} --confirm`
  }
  const { provider, objectStorage, config = {} } = spec
  const isFolder = type !== 'stray-key'
  const bucket = withoutOuterSlashes(objectStorage.bucket)
  switch (provider.replace(/^velero\.io\//, '')) {
    case 'aws': {
      const endpoint = config?.s3Url ? ` --endpoint-url ${quoted(config.s3Url)}` : ''
      return `aws s3 rm ${quoted(`s3://${bucket}/${key}`)}${isFolder ? ' --recursive' : ''}${endpoint}`
    }
    case 'filesystem':
      return `rm ${isFolder ? '-r ' : ''}${quoted(`${config?.path ?? ''}/${bucket}/${key}`)}`
    default:
      return `# delete ${isFolder ? 'all keys that begin with ' : ''}${key} from the bucket of location ${metadata.name}`
  }
}
