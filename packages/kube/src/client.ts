import type { Readable, Writable } from 'node:stream'
import type { Discovery } from './discovery.ts'
import type { EncodedObject } from './list/encoded-object.ts'
import type { KubeObject, ResourceType } from './object.ts'

/** Options that every call understands. */
export interface CallOptions {
  /** Ends the call at once; it then throws the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface ListOptions extends CallOptions {
  labelSelector?: string | undefined
  fieldSelector?: string | undefined
  /**
   * Objects per page. Pages are fetched as the caller consumes. By default 500, and 10,000 once the caller has
   * shown that it keeps up.
   */
  limit?: number | undefined
}

/**
 * Objects one by one, decoded as they arrive; never a whole list in memory. Reading starts with the first
 * iteration. An expired continue token (410), a lost connection or a body cut short resumes transparently:
 * objects already handed out are not repeated.
 */
export interface Listing<T> extends AsyncIterable<T> {
  /**
   * The oldest version any part of the list was read at, so that a watch from it misses nothing. Known once the list
   * has ended. Undefined then only when the first page broke off before it had told its version: list again.
   */
  readonly resourceVersion: string | undefined
  /** Collects everything. For lists known to be small. */
  toArray(): Promise<T[]>
}

export interface WatchOptions extends CallOptions {
  /** Absent: from now on, without the objects that exist already. */
  resourceVersion?: string | undefined
  labelSelector?: string | undefined
  fieldSelector?: string | undefined
}

export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; resourceVersion: string }

export type Patch =
  | { type: 'merge'; body: object }
  | { type: 'json'; body: readonly object[] }
  | { type: 'strategic'; body: object }
  | { type: 'apply'; body: object; fieldManager: string; force?: boolean }

export interface WriteOptions extends CallOptions {
  /** Writes to this subresource (`status`, `scale`) instead of the object. */
  subresource?: string | undefined
  fieldManager?: string | undefined
  dryRun?: boolean | undefined
}

export interface DeleteOptions extends CallOptions {
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined } | undefined
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined
  gracePeriodSeconds?: number | undefined
}

/** All verbs on one kind, in one namespace or (without one) cluster-wide. */
export interface ResourceClient<T extends KubeObject> {
  get(name: string, options?: CallOptions): Promise<T>
  list(options?: ListOptions): Listing<T>
  /** As `list`, for readers that want the objects' JSON: the bytes are handed on, little of them is decoded. */
  listEncoded(options?: ListOptions): Listing<EncodedObject>
  /**
   * Events from `resourceVersion` on, over as many connections as it takes: dropped connections resume at the
   * last version seen, for as long as that takes. Never ends by itself: throws the signal's reason when aborted, a
   * KubeError for which `isGone` holds when the version was compacted away, or one that waiting would not cure.
   */
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>>
  create(object: T, options?: WriteOptions): Promise<T>
  /** Replaces the object; a `resourceVersion` in it makes the write conditional. */
  update(object: T, options?: WriteOptions): Promise<T>
  patch(name: string, patch: Patch, options?: WriteOptions): Promise<T>
  delete(name: string, options?: DeleteOptions): Promise<void>
}

export interface PodRef {
  namespace: string
  name: string
  container?: string | undefined
}

export interface ExecOptions extends CallOptions {
  command: readonly string[]
  stdin?: Readable | undefined
  stdout?: Writable | undefined
  stderr?: Writable | undefined
}

export interface LogOptions extends CallOptions {
  follow?: boolean | undefined
  previous?: boolean | undefined
  tailLines?: number | undefined
  sinceSeconds?: number | undefined
  timestamps?: boolean | undefined
}

/** A local listener whose connections end in a pod's port. */
export interface PortForward extends AsyncDisposable {
  readonly localPort: number
}

export interface PortForwardOptions extends CallOptions {
  port: number
  /** 0 or absent: any free port. */
  localPort?: number | undefined
}

export interface KubeClient extends AsyncDisposable {
  /** The API server's base URL. */
  readonly server: string
  readonly discovery: Discovery
  /** `namespace` is ignored for cluster-scoped kinds; without it, verbs that need one throw. */
  resource<T extends KubeObject>(type: ResourceType<T>, namespace?: string): ResourceClient<T>
  /** GETs a path such as `/version` or `/readyz` and returns its body as text. */
  getRaw(path: string, options?: CallOptions): Promise<string>
  /** Runs a command in a container and returns its exit code. */
  exec(pod: PodRef, options: ExecOptions): Promise<number>
  logs(pod: PodRef, options?: LogOptions): Promise<Readable>
  portForward(pod: PodRef, options: PortForwardOptions): Promise<PortForward>
}
