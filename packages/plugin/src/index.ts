export type {
  ActionItem,
  BackupActionInput,
  BackupItemAction,
  BackupItemResult,
  ItemBlockAction,
  OperationInput,
  OperationProgress,
  Registered,
  ResourceIdentifier,
  ResourceSelector,
} from './item-actions.ts'
export {
  type BucketOptions,
  type InitOptions,
  type KeyOptions,
  type ListOptions,
  type ListPrefixesOptions,
  type ObjectBody,
  type ObjectStore,
  type ObjectStoreConfig,
  type ObjectStoreFactory,
  type PutOptions,
  portableKeyProblem,
  type SignedUrlOptions,
} from './object-store.ts'
export {
  isObjectStoreError,
  ObjectStoreError,
  type ObjectStoreErrorCode,
  type ObjectStoreErrorDetails,
  objectStoreErrorCodes,
} from './object-store-error.ts'
export type {
  AdditionalItemsInput,
  RestoreActionInput,
  RestoreItemAction,
  RestoreItemResult,
  RestoreOperationInput,
} from './restore-item-action.ts'
