import type { RepoError } from '../errors/repo-error.ts'
import type { JsonValue } from '../go-json/go-json.ts'
import type { GoTime } from '../go-json/go-time.ts'

/** Names a manifest: 32 hexadecimal digits. */
export type ManifestId = string & { readonly kind: 'ManifestId' }

/** Mints a manifest id from any text; an unknown one is found missing when it is used. */
export function manifestId(text: string): ManifestId {
  return text as ManifestId
}

/** The labels of a manifest; `type` is always among them. */
export type ManifestLabels = Readonly<Record<string, string>>

/** What is known of a manifest without its payload. */
export interface ManifestMetadata {
  id: ManifestId
  labels: ManifestLabels
  modified: GoTime
  /** Bytes of the payload's JSON text. */
  length: number
}

/** A manifest: small labelled JSON. */
export interface Manifest extends ManifestMetadata {
  /** As `parseGoJson` reads it: nothing is lost, large integers are bigint. */
  payload: JsonValue
}

/** The manifests of an opened repository, for reading. */
export interface ManifestStore {
  /** Throws `MANIFEST_NOT_FOUND`. */
  get(id: ManifestId, signal?: AbortSignal): Promise<Manifest>
  /** Every manifest that has all of these labels, oldest first. */
  find(labels: ManifestLabels, signal?: AbortSignal): Promise<ManifestMetadata[]>
  /** Takes in what others have written since. */
  refresh(signal?: AbortSignal): Promise<void>
  /** Contents of manifests that could not be read, when the repository was opened to leave them out. */
  readonly damaged: readonly RepoError[]
}

/** The manifests of a repository, for reading and writing. Changes become visible to others with `flush`. */
export interface ManifestWriter extends ManifestStore {
  /** Adds a manifest. `payload` is what `encodeGoJson` takes. Throws `INVALID_ARGUMENT` without a label `type`. */
  put(labels: ManifestLabels, payload: unknown): Promise<ManifestId>
  /** Throws `MANIFEST_NOT_FOUND`. */
  delete(id: ManifestId, signal?: AbortSignal): Promise<void>
  /** Puts a manifest and deletes all others that have exactly these labels. */
  replace(labels: ManifestLabels, payload: unknown): Promise<ManifestId>
  /** Writes pending manifests as a content and flushes the contents; compacts when there are many. */
  flush(signal?: AbortSignal): Promise<void>
}
