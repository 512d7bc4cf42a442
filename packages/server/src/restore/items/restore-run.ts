import type { Restore } from '@lateen/api'
import type { Logger } from '@lateen/kube'
import type { BackedUpObjects, RestoreItemAction } from '@lateen/plugin'
import type { ActionTable } from '../../item/resolve-actions.ts'
import type { BegunOperations } from '../../operations/operation-journal.ts'
import type { RestoreOperation } from '../../operations/restore-operation.ts'
import type { RestoredClaim, RestorePorts } from '../restore-request.ts'
import type { RestoreScope } from '../scope/restore-scope.ts'
import type { RestoreVolumes } from '../volumes/restore-volumes.ts'
import type { Definition } from './definitions.ts'
import type { ExistingObjects } from './existing-objects.ts'
import type { ExistingPolicy } from './existing-policy.ts'
import type { Namespaces } from './namespaces.ts'
import type { OwnerLinks } from './owner-links.ts'
import type { RestoreLabels } from './reset-object.ts'
import type { RestoreRecord } from './restore-record.ts'
import type { RestoreReport } from './restore-report.ts'

/** What all items of one restore share. */
export interface RestoreRun {
  readonly restore: Restore
  readonly ports: RestorePorts
  readonly scope: RestoreScope
  readonly log: Logger
  readonly report: RestoreReport
  readonly record: RestoreRecord
  readonly namespaces: Namespaces
  readonly existing: ExistingObjects
  readonly owners: OwnerLinks
  readonly volumes: RestoreVolumes
  readonly actions: ActionTable<RestoreItemAction>
  readonly policy: ExistingPolicy
  readonly labels: RestoreLabels
  /** Whether volumes are restored through CSI here. */
  readonly csiEnabled: boolean
  readonly backedUp: BackedUpObjects
  readonly operations: BegunOperations<RestoreOperation>
  readonly claims: RestoredClaim[]
  /** Definitions that were created or changed, whose types the server is about to serve. */
  readonly definitions: Definition[]
}
