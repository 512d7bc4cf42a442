import { gunzipSync, gzipSync } from 'node:zlib'
import { corrupt } from '../errors/repo-error.ts'
import { asJsonObject, encodeGoJson, goMap, type JsonValue, parseGoJson } from '../go-json/go-json.ts'
import { formatGoTime, type GoTime, parseGoTime } from '../go-json/go-time.ts'

/** One entry of a manifest content: a manifest, or the end of one. */
export interface ManifestEntry {
  id: string
  /** Null for the end of a manifest. */
  labels: Record<string, string> | null
  modified: GoTime
  deleted: boolean
  /** JSON as text, `null` for the end of a manifest: kept as it is, whatever is in it. */
  payload: string
}

// No content is longer; nothing honest unpacks to more.
const longestContent = 256 << 20

/** The bytes of a content that holds these entries. */
export function serializeManifestContent(entries: readonly ManifestEntry[]): Uint8Array {
  // Only "entries" may stand at the top: Kopia's parser trips over the values of other keys.
  return gzipSync(`{"entries":[${entries.map(serializeEntry).join(',')}]}\n`)
}

/** The entries of a manifest content. Throws `CORRUPT`. */
export function parseManifestContent(bytes: Uint8Array): ManifestEntry[] {
  const document = asJsonObject(parseGoJson(unzip(bytes)), 'manifest content')
  const entries = document.entries ?? []
  if (!Array.isArray(entries)) throw corrupt('The entries of the manifest content are no list')
  return entries.map(parseEntry)
}

/**
 * The entries that count: of several for one id the latest, and the end of a manifest before a manifest of the same time.
 */
export function mergeManifests(entries: Iterable<ManifestEntry>): Map<string, ManifestEntry> {
  const latest = new Map<string, ManifestEntry>()
  for (const entry of entries) {
    const other = latest.get(entry.id)
    if (other === undefined || supersedes(entry, other)) latest.set(entry.id, entry)
  }
  return latest
}

function supersedes(entry: ManifestEntry, other: ManifestEntry): boolean {
  if (entry.modified !== other.modified) return entry.modified > other.modified
  return entry.deleted && !other.deleted
}

function serializeEntry({ id, labels, modified, deleted, payload }: ManifestEntry): string {
  const head = encodeGoJson({
    id,
    labels: labels === null ? null : goMap(labels),
    modified: formatGoTime(modified),
    ...(deleted ? { deleted } : {}),
  })
  return `${head.slice(0, -1)},"data":${payload}}`
}

function parseEntry(value: JsonValue): ManifestEntry {
  const { id, labels = null, modified, deleted = false, data = null } = asJsonObject(value, 'manifest entry')
  if (typeof id !== 'string' || typeof modified !== 'string') throw corrupt('A manifest has no id or no time')
  return {
    id,
    labels: labels === null ? null : parseLabels(labels),
    modified: parseGoTime(modified),
    deleted: deleted === true,
    payload: encodeGoJson(data),
  }
}

function parseLabels(value: JsonValue): Record<string, string> {
  const labels = Object.entries(asJsonObject(value, 'labels of a manifest'))
  return Object.fromEntries(labels.map(([name, text]) => [name, String(text)]))
}

function unzip(bytes: Uint8Array): string {
  try {
    return gunzipSync(bytes, { maxOutputLength: longestContent }).toString('utf8')
  } catch (cause) {
    throw corrupt('The manifest content cannot be unpacked', { cause })
  }
}
