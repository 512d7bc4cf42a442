export { type InClusterOptions, inClusterConfig } from './auth/in-cluster.ts'
export type { Credentials, KubeConfigSource, TlsSettings } from './auth/kube-config-source.ts'
export { type LoadKubeConfigOptions, loadKubeConfig } from './auth/load-kube-config.ts'
export { type BuiltInKind, builtInKind, builtInKinds } from './built-in-kind.ts'
export type {
  CallOptions,
  DeleteOptions,
  ExecOptions,
  KubeClient,
  Listing,
  ListOptions,
  LogOptions,
  Patch,
  PodRef,
  PortForward,
  PortForwardOptions,
  ResourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts'
export { type Clock, systemClock } from './clock.ts'
export { createKubeClient, type KubeClientOptions } from './create-kube-client.ts'
export { deleteExactly } from './delete-exactly.ts'
export type { DiscoveredResource, Discovery, DiscoveryFailure, KindQuery } from './discovery.ts'
export {
  type ClientErrorCode,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isRetryable,
  isUnauthorized,
  KubeError,
  type KubeErrorOptions,
  noneIfUnseen,
  type StatusCause,
  type StatusDetails,
  textOf,
  unlessChanged,
  unlessNotFound,
} from './errors.ts'
export { type Fence, FencedError, noFence } from './fence.ts'
export type { ObservedRequest, RequestObserver } from './http/observed-transport.ts'
export { defaultRetryPolicy, type RetryPolicy } from './http/retry-policy.ts'
export type { EncodedObject } from './list/encoded-object.ts'
export { type Logger, silentLogger } from './logger.ts'
export type { KubeObject, ObjectMeta, OwnerReference, ResourceType, Unstructured } from './object.ts'
export { type Patience, patiently } from './patiently.ts'
export { type Backoff, defaultBackoff } from './runtime/backoff.ts'
export {
  type Controller,
  type ControllerOptions,
  type ControllerScope,
  createController,
} from './runtime/controller.ts'
export {
  type HttpServer,
  type HttpServerOptions,
  type Route,
  type RouteHandler,
  sendText,
  startHttpServer,
} from './runtime/http-server.ts'
export {
  type AnyInformer,
  Informer,
  type InformerOptions,
  type ObjectHandler,
  withoutManagedFields,
} from './runtime/informer.ts'
export {
  type CampaignOptions,
  createLeaderElection,
  type ElectionState,
  type LeaderElection,
  type LeaderElectionOptions,
} from './runtime/leader-election.ts'
export { type Lease, LeaseKind } from './runtime/lease.ts'
export { LeaseFence, steadyNow } from './runtime/lease-fence.ts'
export {
  createManager,
  type Manager,
  type ManagerOptions,
  type ReadinessCheck,
  type SharedInformerOptions,
  type Task,
} from './runtime/manager.ts'
export type { IndexValues } from './runtime/object-cache.ts'
export type { ObjectEvent } from './runtime/object-event.ts'
export { joinKey, keyOf, type ObjectKey, splitKey } from './runtime/object-key.ts'
export { isLaterVersion, versionOf } from './runtime/object-version.ts'
export {
  again,
  done,
  type Outcome,
  type Reconcile,
  type ReconcileContext,
  TerminalError,
} from './runtime/reconcile.ts'
export { RuntimeError, type RuntimeErrorCode } from './runtime/runtime-error.ts'
export type { RuntimePorts } from './runtime/runtime-ports.ts'
export {
  type PeriodicOptions,
  periodically,
  type Source,
  type SourceScope,
  type WatchingOptions,
  watching,
} from './runtime/source.ts'
export { type WatchUntilOptions, watchUntil } from './runtime/watch-until.ts'
export { type QueueObserver, WorkQueue, type WorkQueueOptions } from './runtime/work-queue.ts'
