import type { RestoreOperation } from '../../operations/restore-operation.ts'
import type { ResourceList } from '../../report/resource-list.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'

/** A claim that a restore created and whose volume is provisioned anew, with what the old volume had. */
export interface ProvisionedClaim {
  /** Where it is now. */
  namespace: string
  name: string
  /** The volume that it had. */
  oldVolume: string
  reclaimPolicy: string
  labels: Readonly<Record<string, string>>
  /** The operation that fills the volume has not come to a good end. */
  unfilled?: { operation: string; phase: string } | undefined
}

/** What is known of the volumes of a restore. */
export interface ProvisioningFacts {
  /** Of the backup. */
  volumeInfo: readonly VolumeInfo[]
  namespaceMapping: Readonly<Record<string, string>>
  /** Of the restore. */
  resourceList: Partial<ResourceList>
  operations: readonly RestoreOperation[]
}

const claimsKind = 'v1/PersistentVolumeClaim'
const created = '(created)'

/** The action whose operations fill the volumes of claims. */
const fillingAction = 'velero.io/csi-pvc-restorer'

/** Whether the old properties of a volume are to be given to the one in its place; others come back with them. */
export function isProvisionedAnew({ backupMethod, pvInfo }: VolumeInfo): boolean {
  return pvInfo !== undefined && (backupMethod === 'PodVolumeBackup' || backupMethod === 'CSISnapshot')
}

/** The claims that the restore created and whose volumes are others now. */
export function provisionedClaims(facts: ProvisioningFacts): ProvisionedClaim[] {
  const restored = new Set((facts.resourceList[claimsKind] ?? []).flatMap(createdName))
  return facts.volumeInfo.filter(isProvisionedAnew).flatMap(info => {
    const { pvcName: name = '', pvcNamespace = '', pvName = '', pvInfo } = info
    const namespace = facts.namespaceMapping[pvcNamespace] ?? pvcNamespace
    if (pvInfo === undefined || !restored.has(`${namespace}/${name}`)) return []
    const { reclaimPolicy, labels } = pvInfo
    const unfilled = unfinished(facts.operations, { namespace, name })
    return [{ namespace, name, oldVolume: pvName, reclaimPolicy, labels: labels ?? {}, unfilled }]
  })
}

function createdName(entry: string): string[] {
  return entry.endsWith(created) ? [entry.slice(0, -created.length)] : []
}

function unfinished(
  operations: readonly RestoreOperation[],
  { namespace, name }: { namespace: string; name: string },
): ProvisionedClaim['unfilled'] {
  const found = operations.find(({ spec, status }) => {
    const { Group, Resource, Namespace, Name } = spec.resourceIdentifier
    return (
      spec.restoreItemAction === fillingAction &&
      status.phase !== 'Completed' &&
      Group === '' &&
      Resource === 'persistentvolumeclaims' &&
      Namespace === namespace &&
      Name === name
    )
  })
  return found && { operation: found.spec.operationID, phase: found.status.phase }
}
