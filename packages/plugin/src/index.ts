export type { DeleteItemAction } from './delete-item-action.ts'
export {
  appProtocolVersion,
  coreProtocolVersion,
  type Handshake,
  magicCookie,
  parseHandshake,
  serializeHandshake,
} from './handshake.ts'
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
export { parseItem, serializeItem } from './item-json.ts'
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
export {
  asyncOperationsNotSupported,
  invalidOperationId,
  isPluginError,
  PluginError,
  type PluginErrorCode,
  type PluginErrorDetails,
  type PluginStackFrame,
  pluginErrorCodes,
} from './plugin-error.ts'
export {
  checkPluginName,
  fullPluginName,
  isPluginKind,
  kindsBeyondVelero,
  kindsKnownToHost,
  knownKindsVariable,
  type PluginKind,
  type PluginOfKind,
  pluginKinds,
  pluginNameProblem,
} from './plugin-kinds.ts'
export { readBody } from './read-body.ts'
export type {
  AdditionalItemsInput,
  BackedUpObjects,
  RestoreActionInput,
  RestoreItemAction,
  RestoreItemResult,
  RestoreOperationInput,
} from './restore-item-action.ts'
export type {
  CreateSnapshotOptions,
  CreateVolumeOptions,
  PersistentVolumeOptions,
  SetVolumeIdOptions,
  SnapshotOptions,
  SnapshotterInitOptions,
  VolumeInfo,
  VolumeOptions,
  VolumeSnapshotter,
  VolumeSnapshotterConfig,
} from './volume-snapshotter.ts'
