import type { ActionItem } from '@lateen/plugin'

const gkeKey = 'topology.gke.io/zone'
const labels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone']
const affinityKeys = new Set([
  'topology.ebs.csi.aws.com/zone',
  'topology.disk.csi.azure.com/zone',
  gkeKey,
  'topology.manila.csi.openstack.org/zone',
  'topology.cinder.csi.openstack.org/zone',
  ...labels,
])

interface Requirement {
  key?: string
  operator?: string
  values?: string[] | null
}

interface Volume extends ActionItem {
  spec?: {
    nodeAffinity?: {
      required?: { nodeSelectorTerms?: { matchExpressions?: Requirement[] | null }[] | null } | null
    } | null
  }
}

/**
 * The availability zone of a PersistentVolume, by its labels, then by the nodes that can use it; empty when neither tells. Volumes of GKE
 * may be in several zones, which are joined by two underscores, as its snapshotter expects them.
 */
export function zoneOfVolume(volume: ActionItem): string {
  const label = labels.find(name => volume.metadata.labels?.[name] !== undefined)
  if (label !== undefined) return volume.metadata.labels?.[label] ?? ''
  const terms = (volume as Volume).spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
  const gkeZones: string[] = []
  for (const { key = '', operator, values } of terms.flatMap(term => term.matchExpressions ?? [])) {
    const zone = values?.[0]
    if (!affinityKeys.has(key) || operator !== 'In' || zone === undefined) continue
    if (key !== gkeKey) return zone
    gkeZones.push(zone)
  }
  return gkeZones.join('__')
}
