import type { Readable, Writable } from 'node:stream'
import type { Discovery } from './discovery.ts'
import type { KubeObject, ResourceType } from './object.ts'

/** Options that every call understands. */
export interface CallOptions {
  signal?: AbortSignal
}

export interface ListOptions extends CallOptions {
  labelSelector?: string
  fieldSelector?: string
  /** Objects per page. Pages are fetched as the caller consumes. Default 500. */
  limit?: number
}

/**
 * Objects one by one, decoded as they arrive; never a whole list in memory. Reading starts with the first
 * iteration. An expired continue token (410) restarts transparently from a fresh list: objects already
 * handed out are not repeated.
 */
export interface Listing<T> extends AsyncIterable<T> {
  /** The version the list is consistent at; known once the first page has begun. */
  readonly resourceVersion: string | undefined
  /** Collects everything. For lists known to be small. */
  toArray(): Promise<T[]>
}

export interface WatchOptions extends CallOptions {
  resourceVersion?: string
  labelSelector?: string
  fieldSelector?: string
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
  subresource?: string
  fieldManager?: string
  dryRun?: boolean
}

export interface DeleteOptions extends CallOptions {
  preconditions?: { uid?: string; resourceVersion?: string }
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground'
  gracePeriodSeconds?: number
}

/** All verbs on one kind, in one namespace or (without one) cluster-wide. */
export interface ResourceClient<T extends KubeObject> {
  get(name: string, options?: CallOptions): Promise<T>
  list(options?: ListOptions): Listing<T>
  /**
   * Events from `resourceVersion` on, over as many connections as it takes: dropped connections resume at the
   * last version seen. Throws a KubeError for which `isGone` holds when that version was compacted away.
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
  container?: string
}

export interface ExecOptions extends CallOptions {
  command: readonly string[]
  stdin?: Readable
  stdout?: Writable
  stderr?: Writable
}

export interface LogOptions extends CallOptions {
  follow?: boolean
  previous?: boolean
  tailLines?: number
  sinceSeconds?: number
  timestamps?: boolean
}

/** A local listener whose connections end in a pod's port. */
export interface PortForward extends AsyncDisposable {
  readonly localPort: number
}

export interface PortForwardOptions extends CallOptions {
  port: number
  /** 0 or absent: any free port. */
  localPort?: number
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
