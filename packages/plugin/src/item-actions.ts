import type { Backup, ObjectMeta } from '@lateen/api'

/** An object as actions see it: whatever fields its kind has. */
export interface ActionItem {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
}

/** Names one object. `group` is empty for the core group, `namespace` for objects without one. */
export interface ResourceIdentifier {
  group: string
  /** The plural name, such as `persistentvolumeclaims`. */
  resource: string
  namespace: string
  name: string
}

/** Which objects an action is for. Lists that are absent or empty select everything. */
export interface ResourceSelector {
  includedNamespaces?: readonly string[]
  excludedNamespaces?: readonly string[]
  /** `resource` or `resource.group`, as a user may write them. */
  includedResources?: readonly string[]
  excludedResources?: readonly string[]
  /** In the notation of `kubectl -l`. */
  labelSelector?: string
}

/** What an action is called with. `item` may be changed and returned. */
export interface BackupActionInput {
  item: ActionItem
  backup: Backup
  signal?: AbortSignal | undefined
}

/** What a backup item action answers. */
export interface BackupItemResult {
  /** What is stored instead of the object; undefined leaves it out of the backup. */
  item: ActionItem | undefined
  /** Says that `item` is what came in, untouched: it is then stored byte for byte as the API server sent it. */
  unchanged?: boolean
  /** Objects that must be in the backup too; they are stored before this one is. */
  additionalItems?: readonly ResourceIdentifier[]
  /** Names long work that goes on after the call; `progress` and `cancel` are asked with it. */
  operationId?: string
  /** Objects to read again once the operation is complete. */
  postOperationItems?: readonly ResourceIdentifier[]
}

/** How far an operation has come. */
export interface OperationProgress {
  completed: boolean
  /** Why it failed; empty when it did not. */
  error: string
  nCompleted: number
  nTotal: number
  operationUnits: string
  description: string
  /** Milliseconds since 1970. */
  started?: number | undefined
  updated?: number | undefined
}

/** An operation of an action, by the id that `execute` returned. */
export interface OperationInput {
  operationId: string
  backup: Backup
  signal?: AbortSignal | undefined
}

/** Takes part in storing objects: changes them, names others that belong to them, starts long work. */
export interface BackupItemAction {
  appliesTo(): Promise<ResourceSelector>
  execute(input: BackupActionInput): Promise<BackupItemResult>
  /** Objects to be stored in one block with this one, known before `execute`. Absent: none. */
  getAdditionalItems?(input: BackupActionInput): Promise<readonly ResourceIdentifier[]>
  /** Absent: the action starts no operations. */
  progress?(input: OperationInput): Promise<OperationProgress>
  cancel?(input: OperationInput): Promise<void>
}

/** Tells which objects belong together, so that they are backed up as one block. */
export interface ItemBlockAction {
  appliesTo(): Promise<ResourceSelector>
  getRelatedItems(input: BackupActionInput): Promise<readonly ResourceIdentifier[]>
}

/** An action under the name that it is registered with, such as `velero.io/pod`. */
export interface Registered<Action> {
  name: string
  action: Action
}
