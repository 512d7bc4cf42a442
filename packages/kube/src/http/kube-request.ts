import type { KubeError } from '../errors.ts'

/** What a request is about, in the words of an error message. */
export interface Subject {
  /** `get`, `list`, `watch`, `create`, … */
  verb: string
  /** `configmaps`, `backups.velero.io`, or a bare path. */
  resource: string
  namespace?: string | undefined
  name?: string | undefined
}

/** One HTTP request to the API server, as often as it may be sent. */
export interface KubeRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query below the server's base URL. */
  path: string
  subject: Subject
  body?: string | undefined
  contentType?: string
  accept?: string
  /** Lets the server compress its answer. */
  compressed?: boolean
  /**
   * Whether sending it twice has the effect of sending it once. Requests that are not repeatable are only
   * repeated when the server surely did nothing.
   */
  repeatable: boolean
  signal?: AbortSignal | undefined
  /** Told of every failed attempt, the last included. */
  onFailure?: (error: KubeError) => void
}

/** `get configmaps "a" in namespace "b"`. */
export function describeSubject(subject: Subject): string {
  const name = subject.name === undefined ? '' : ` "${subject.name}"`
  const place = subject.namespace === undefined ? '' : ` in namespace "${subject.namespace}"`
  return `${subject.verb} ${subject.resource}${name}${place}`
}

/** An answer whose body has not been read. */
export interface KubeResponse {
  status: number
  /** The server that answered, for messages. */
  server: string
  header(name: string): string | undefined
  body: AsyncIterable<Buffer> & { text(): Promise<string>; destroy(error?: Error): unknown }
  /** Turns a failure while reading the body into a KubeError. */
  failure(error: unknown): KubeError
}
