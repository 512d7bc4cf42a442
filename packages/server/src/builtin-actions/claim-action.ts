import { annotationNames, type Backup, type LabelSelector, labelNames } from '@lateen/api'
import type {
  ActionItem,
  BackupItemAction,
  BackupItemResult,
  ItemBlockAction,
  ResourceIdentifier,
} from '@lateen/plugin'
import type { ClaimNeighbours, PodsToFind } from './claim-neighbours.ts'

/** A PersistentVolumeClaim, as far as these actions look at it. */
interface Claim extends ActionItem {
  spec?: {
    volumeName?: string
    storageClassName?: string | null
    dataSource?: unknown
    dataSourceRef?: unknown
    selector?: LabelSelector | null
  }
  status?: { phase?: string }
}

const appliesTo = async () => ({ includedResources: ['persistentvolumeclaims'] })

/** `velero.io/pv`: a bound claim takes its volume along and loses what only made sense where it was. */
export const claimAction: BackupItemAction = {
  appliesTo,
  execute: async ({ item, backup }) => storedClaim(item, backup.metadata.name ?? ''),
}

/** `velero.io/pvc`: a bound claim is in one block with its volume, the pods that mount it, and its group. */
export function claimBlockAction(neighbours: ClaimNeighbours): ItemBlockAction {
  return {
    appliesTo,
    async getRelatedItems({ item, backup, signal }) {
      const volume = volumeOf(item)
      if (volume === undefined) return []
      const claim = { namespace: item.metadata.namespace ?? '', name: item.metadata.name ?? '' }
      const label = backup.spec.volumeGroupSnapshotLabelKey ?? ''
      const group = label === '' ? '' : (item.metadata.labels?.[label] ?? '')
      return [
        volume,
        ...(await neighbours.podsMounting(claim, podsToFind(backup), signal)),
        ...(group === '' ? [] : await neighbours.claimsOfGroup(claim, { label, group }, signal)),
      ]
    },
  }
}

/**
 * Also those that have ended or not begun: in a block of its own, such a pod would have the claim stored while the hooks of another one still run. A
 * backup of selected objects is to have no more pods because of that, nor their claims.
 */
function podsToFind({ spec }: Backup): PodsToFind {
  return spec.labelSelector || spec.orLabelSelectors?.length ? 'running' : 'all'
}

/** The volume of a claim that is bound. */
export function volumeOf(item: ActionItem): ResourceIdentifier | undefined {
  const { spec, status } = item as Claim
  if (status?.phase !== 'Bound' || !spec?.volumeName) return undefined
  return { group: '', resource: 'persistentvolumes', namespace: '', name: spec.volumeName }
}

function storedClaim(item: ActionItem, backupName: string): BackupItemResult {
  const volume = volumeOf(item)
  if (volume === undefined) return { item, unchanged: true }
  const { spec = {}, metadata } = item as Claim
  // Snapshots that the claim was once restored from are gone when it is restored again.
  let changed = remove(spec, ['dataSource', 'dataSourceRef'])
  // An empty class means "no class at all", and then the selector is what finds the volume. In any other case it would
  // keep the restored claim from getting a volume of its own.
  if (spec.storageClassName !== '') changed = remove(spec, ['selector']) || changed
  changed = cleanSelector(spec) || changed
  changed = removeLabels(metadata, staleLabels(metadata.labels ?? {}, backupName)) || changed
  return { item, unchanged: !changed, additionalItems: [volume] }
}

/** Labels that an earlier restore or backup left behind. */
function staleLabels(labels: Readonly<Record<string, string>>, backupName: string): string[] {
  const always: string[] = [
    labelNames.restoreName,
    labelNames.volumeSnapshotName,
    annotationNames.backupMustIncludeAdditionalItems,
  ]
  return Object.keys(labels).filter(
    label => always.includes(label) || (label === labelNames.backupName && labels[label] !== backupName),
  )
}

function cleanSelector({ selector }: NonNullable<Claim['spec']>): boolean {
  if (!selector?.matchLabels) return false
  const stale = Object.keys(selector.matchLabels).filter(label => label.startsWith('velero.io/'))
  const changed = remove(selector.matchLabels, stale)
  if (Object.keys(selector.matchLabels).length === 0) remove(selector, ['matchLabels'])
  return changed
}

function removeLabels(metadata: ActionItem['metadata'], stale: string[]): boolean {
  if (metadata.labels === undefined || !remove(metadata.labels, stale)) return false
  if (Object.keys(metadata.labels).length === 0) remove(metadata, ['labels'])
  return true
}

function remove(from: object, keys: readonly string[]): boolean {
  let changed = false
  for (const key of keys) {
    if (Object.hasOwn(from, key)) changed = Reflect.deleteProperty(from, key)
  }
  return changed
}
