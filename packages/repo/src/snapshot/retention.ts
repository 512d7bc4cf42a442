import { type GoTime, goTimeToMillis } from '../go-json/go-time.ts'
import { type ManifestWriter, manifestId } from '../manifest/manifest-store.ts'
import type { RetentionPolicy } from './policy.ts'
import { loadEffectivePolicy } from './policy-tree.ts'
import { parseSnapshotManifest, type SnapshotManifest, sourceLabels } from './snapshot-manifest.ts'
import type { SourceInfo } from './source.ts'

/** What retention looks at. */
export type RetainedSnapshot = Pick<SnapshotManifest, 'id' | 'startTime' | 'incomplete' | 'pins'>

const hour = 3_600_000
const day = 24 * hour
const incompleteAge = 4n * 3_600_000_000_000n
const incompleteCount = 3

interface Period {
  type: string
  keep: number | undefined
  cutoff: number
  name: (time: Date, index: number) => string
}

/**
 * Why each snapshot of one source is kept: `latest-1`, `daily-3`, `incomplete`. A snapshot that is not in the
 * result or has no reason is expired unless it is pinned.
 */
export function retentionReasons(
  policy: RetentionPolicy,
  snapshots: readonly RetainedSnapshot[],
): Map<string, string[]> {
  const newestFirst = [...snapshots].sort((a, b) =>
    a.startTime > b.startTime ? -1 : a.startTime < b.startTime ? 1 : 0,
  )
  const newestComplete = newestFirst.find(snapshot => !snapshot.incomplete)
  const reasons = new Map<string, string[]>()
  if (newestComplete) {
    const periods = retentionPeriods(policy, goTimeToMillis(newestComplete.startTime))
    keepByPeriod(newestFirst, periods, reasons)
  }
  keepIncomplete(newestFirst, reasons)
  return reasons
}

/** The ids that retention would delete from the snapshots of one source. */
export function expiredSnapshots(policy: RetentionPolicy, snapshots: readonly RetainedSnapshot[]): string[] {
  const reasons = retentionReasons(policy, snapshots)
  return snapshots
    .filter(snapshot => snapshot.pins.length === 0 && (reasons.get(snapshot.id) ?? []).length === 0)
    .map(snapshot => snapshot.id)
}

/**
 * Deletes the manifests of a source that its policy does not keep and returns their ids. Nothing is visible to
 * others before the next flush.
 */
export async function applyRetention(
  manifests: ManifestWriter,
  source: SourceInfo,
  signal?: AbortSignal,
): Promise<string[]> {
  const policy = await loadEffectivePolicy(manifests, source, { signal })
  const snapshots: SnapshotManifest[] = []
  for (const { id } of await manifests.find(sourceLabels(source), signal)) {
    snapshots.push(parseSnapshotManifest(id, (await manifests.get(id, signal)).payload))
  }
  const expired = expiredSnapshots(policy.retention, snapshots)
  for (const id of expired) await manifests.delete(manifestId(id), signal)
  return expired
}

function retentionPeriods(policy: RetentionPolicy, newest: number): Period[] {
  const { keepLatest, keepHourly, keepDaily, keepWeekly, keepMonthly, keepAnnual } = policy
  const total = [keepLatest, keepHourly, keepDaily, keepWeekly, keepMonthly, keepAnnual]
    .map(keep => keep ?? 0)
    .reduce((sum, keep) => sum + keep, 0)
  const back = (keep: number | undefined, length: number) => newest - (keep ?? 0) * length
  return [
    {
      type: 'latest',
      keep: total === 0 ? Number.POSITIVE_INFINITY : keepLatest,
      cutoff: Number.NEGATIVE_INFINITY,
      name: (_time, index) => `${index}`,
    },
    {
      type: 'annual',
      keep: keepAnnual,
      cutoff: monthsBack(newest, (keepAnnual ?? 0) * 12),
      name: isoPrefix(4),
    },
    { type: 'monthly', keep: keepMonthly, cutoff: monthsBack(newest, keepMonthly ?? 0), name: isoPrefix(7) },
    { type: 'weekly', keep: keepWeekly, cutoff: back(keepWeekly, 7 * day), name: isoWeek },
    { type: 'daily', keep: keepDaily, cutoff: back(keepDaily, day), name: isoPrefix(10) },
    { type: 'hourly', keep: keepHourly, cutoff: back(keepHourly, hour), name: isoPrefix(13) },
  ]
}

function keepByPeriod(
  newestFirst: readonly RetainedSnapshot[],
  periods: readonly Period[],
  reasons: Map<string, string[]>,
): void {
  // The names of periods share one set, as in Kopia.
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  for (const [index, snapshot] of newestFirst.entries()) {
    if (snapshot.incomplete) continue
    const millis = goTimeToMillis(snapshot.startTime)
    const kept: string[] = []
    for (const { type, keep, cutoff, name } of periods) {
      const period = name(new Date(millis), index)
      const count = counts.get(type) ?? 0
      if (keep === undefined || millis < cutoff || taken.has(period) || count >= keep) continue
      taken.add(period)
      counts.set(type, count + 1)
      kept.push(`${type}-${count + 1}`)
    }
    reasons.set(
      snapshot.id,
      kept.sort((a, b) => rank(a) - rank(b)),
    )
  }
}

// Checkpoints are worth keeping while no complete snapshot is newer.
function keepIncomplete(newestFirst: readonly RetainedSnapshot[], reasons: Map<string, string[]>): void {
  const newest: GoTime = newestFirst[0]?.startTime ?? 0n
  for (const [index, snapshot] of newestFirst.entries()) {
    if (!snapshot.incomplete) return
    if (newest - snapshot.startTime >= incompleteAge && index >= incompleteCount) return
    reasons.set(snapshot.id, ['incomplete'])
  }
}

const order = ['latest', 'hourly', 'daily', 'weekly', 'monthly', 'annual']

function rank(reason: string): number {
  return order.indexOf(reason.split('-', 1)[0] ?? '')
}

function isoPrefix(length: number): (time: Date) => string {
  return time => time.toISOString().slice(0, length)
}

// Go's AddDate: a day that the month does not have runs over into the next one.
function monthsBack(newest: number, months: number): number {
  const date = new Date(newest)
  const millis = date.setUTCMonth(date.getUTCMonth() - months)
  return Number.isNaN(millis) ? Number.NEGATIVE_INFINITY : millis
}

function isoWeek(time: Date): string {
  const thursday = new Date(time.getTime())
  thursday.setUTCDate(time.getUTCDate() + 3 - ((time.getUTCDay() + 6) % 7))
  const year = thursday.getUTCFullYear()
  const dayOfYear = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / day)
  return `${String(year).padStart(4, '0')}-${String(Math.floor(dayOfYear / 7) + 1).padStart(2, '0')}`
}
