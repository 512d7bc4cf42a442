import { corrupt } from '../errors/repo-error.ts'
import { encodeGoJson } from '../go-json/go-json.ts'
import { formatGoTime, type GoTime, parseGoTime } from '../go-json/go-time.ts'
import { type ObjectId, objectId } from '../object/object-id.ts'
import { compareNames, storedName } from './name.ts'

/** Kind of a directory entry as stored: directory, file, symlink, or unknown (never written by us). */
export type EntryType = 'd' | 'f' | 's' | ''

/** Why an upload ended early, as stored in snapshots and directory summaries. */
export type IncompleteReason = 'checkpoint' | 'canceled' | 'limit reached'

/** One file, directory or symlink as its parent directory records it. */
export interface DirectoryEntry {
  name: string
  type: EntryType
  /** Go file mode bits: permissions plus setuid, setgid and sticky at Go's positions (see go-file-mode.ts). */
  mode: number
  /** Bytes read for a file, target length for a symlink, 0 for a directory. */
  size: number
  mtime: GoTime
  uid: number
  gid: number
  obj: ObjectId
  /** Only on directories. */
  summary?: DirectorySummary
}

/** One entry that could not be stored. */
export interface FailedEntry {
  path: string
  error: string
}

/** Recursive totals of a directory. */
export interface DirectorySummary {
  size: number
  files: number
  symlinks: number
  /** Counts the directory itself. */
  dirs: number
  maxTime: GoTime
  incomplete?: string
  numFailed: number
  numIgnoredErrors: number
  errors: FailedEntry[]
}

/** The decoded bytes of a directory object. */
export interface Directory {
  entries: DirectoryEntry[]
  summary?: DirectorySummary
}

/** The value of `stream` by which a directory object is recognised. */
export const directoryStreamType = 'kopia:directory'

/** A summary lists at most this many failed entries; the counters hold the full number. */
export const maxFailedEntries = 10

const modeLimit = 0x8000_0000

/** A directory entry as its JSON has it, before its fields are looked at. */
export type StoredEntry = Readonly<Record<string, unknown>>

/**
 * Decodes a directory object.
 * Throws RepoError CORRUPT when the bytes are not a directory object.
 */
export function parseDirectory(bytes: Uint8Array): Directory {
  return decoding(() => {
    const { entries, summary } = parseStream(bytes)
    const read = entries.map(readDirectoryEntry)
    return summary ? { entries: read, summary: readSummary(summary) } : { entries: read }
  })
}

/** A directory object whose entries are not looked at yet. */
export interface StoredDirectory {
  readonly entries: readonly StoredEntry[]
  /** What stands behind the entries. */
  readonly end: string
}

/**
 * Decodes a directory object without looking at the fields of its entries, which is several times as fast;
 * `readDirectoryEntry` does that for one of them, `isStoredAs` compares without it.
 * Throws RepoError CORRUPT when the bytes are not a directory object.
 */
export function parseStoredDirectory(bytes: Uint8Array): StoredDirectory {
  return decoding(() => {
    const { text, entries } = parseStream(bytes)
    // Quotes inside of names are escaped, so that this stands at the end of the entries only.
    return { entries, end: text.slice(text.lastIndexOf(beforeSummary)) }
  })
}

/** True when the stored directory ends as one with this summary is encoded. */
export function isEndOf({ end }: StoredDirectory, summary: DirectorySummary): boolean {
  return end === encodeEnd(summary)
}

/** True when entries stand in the order of `sortEntries`. */
export function isStoredOrder(stored: readonly StoredEntry[]): boolean {
  return stored.every((entry, index) => {
    const before = stored[index - 1]
    return before === undefined || compareEntries(asSorted(before), asSorted(entry)) < 0
  })
}

const fieldOrder = ['name', 'type', 'mode', 'size', 'mtime', 'uid', 'gid', 'obj', 'summ']

/**
 * True when the entry is stored with the fields that `encodeDirectoryEntry` would write, in their order and with their values. Its
 * name does not count.
 */
export function isStoredExactlyAs(stored: StoredEntry, entry: DirectoryEntry): boolean {
  if (stored.obj !== entry.obj || !isStoredAs(stored, entry)) return false
  let at = 0
  for (const field in stored) {
    at = fieldOrder.indexOf(field, at) + 1
    if (at === 0 || stored[field] === 0 || stored[field] === '') return false
  }
  if (entry.summary === undefined) return stored.summ === undefined
  return stored.summ !== undefined && encodeGoJson(stored.summ) === encodeSummary(entry.summary)
}

/**
 * True when the stored entry has this type and metadata, written as we write them; its name, object and summary do not
 * count.
 */
export function isStoredAs(
  stored: StoredEntry,
  entry: Pick<DirectoryEntry, 'type' | 'mode' | 'size' | 'mtime' | 'uid' | 'gid'>,
): boolean {
  return (
    stored.type === entry.type &&
    (stored.size ?? 0) === entry.size &&
    (stored.uid ?? 0) === entry.uid &&
    (stored.gid ?? 0) === entry.gid &&
    (stored.mode === undefined ? entry.mode === 0 : stored.mode === modeText(entry.mode)) &&
    (stored.mtime === undefined ? entry.mtime === 0n : stored.mtime === timeText(entry.mtime))
  )
}

interface DirectoryStream {
  text: string
  entries: StoredEntry[]
  summary?: Record<string, unknown>
}

function parseStream(bytes: Uint8Array): DirectoryStream {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const value = JSON.parse(text)
  if (value?.stream !== directoryStreamType) throw new TypeError(`stream is ${JSON.stringify(value?.stream)}`)
  return { text, entries: value.entries ?? [], summary: value.summary }
}

function decoding<T>(decode: () => T): T {
  try {
    return decode()
  } catch (cause) {
    throw corrupt('The bytes of this object are not a directory', {
      hint: 'Run verify to find the snapshots that use it',
      cause,
    })
  }
}

const timeTexts = new Map<GoTime, string>()
const maxTimeTexts = 8192

function modeText(mode: number): string {
  return `0${mode.toString(8)}`
}

// An entry's time is needed as text twice, to compare and to encode, and many entries share one.
function timeText(time: GoTime): string {
  let text = timeTexts.get(time)
  if (text === undefined) {
    text = formatGoTime(time)
    if (timeTexts.size >= maxTimeTexts) timeTexts.clear()
    timeTexts.set(time, text)
  }
  return text
}

/** Encodes a directory object to exactly the bytes Kopia writes for it. Entries must be in `sortEntries` order. */
export function serializeDirectory(directory: Directory): Uint8Array {
  return Buffer.concat([...serializeDirectoryInPieces(directory)])
}

const entriesPerPiece = 1024

/** The bytes of `serializeDirectory` in pieces, for directories too large to hold twice. */
export function* serializeDirectoryInPieces({ entries, summary }: Directory): Generator<Uint8Array> {
  let text = `{"stream":"${directoryStreamType}","entries":${entries.length === 0 ? 'null' : '['}`
  for (const [index, entry] of entries.entries()) {
    if (index > 0) text += ','
    text += encodeDirectoryEntry(entry)
    if (index % entriesPerPiece === entriesPerPiece - 1) {
      yield Buffer.from(text, 'utf8')
      text = ''
    }
  }
  yield Buffer.from(`${text}${entries.length === 0 ? '' : ']'}${encodeEnd(summary)}`)
}

const beforeSummary = ',"summary":'

function encodeEnd(summary: DirectorySummary | undefined): string {
  return `${beforeSummary}${summary ? encodeSummary(summary) : 'null'}}\n`
}

/** Sorts in place into the stored order: directories first, then by the bytes of the name. */
export function sortEntries(entries: DirectoryEntry[]): DirectoryEntry[] {
  return entries.sort(compareEntries)
}

type Sorted = Pick<DirectoryEntry, 'type' | 'name'>

function compareEntries(a: Sorted, b: Sorted): number {
  if ((a.type === 'd') !== (b.type === 'd')) return a.type === 'd' ? -1 : 1
  return compareNames(a.name, b.name)
}

function asSorted({ type, name }: StoredEntry): Sorted {
  return { type: type === 'd' ? 'd' : '', name: String(name ?? '') }
}

/** Encodes one entry as Go JSON, with the field order and omissions of the format. */
export function encodeDirectoryEntry(entry: DirectoryEntry): string {
  let text = '{'
  if (entry.name !== '') text += `"name":${quote(entry.name)},`
  if (entry.type !== '') text += `"type":"${entry.type}",`
  if (entry.mode !== 0) text += `"mode":"${modeText(entry.mode)}",`
  if (entry.size !== 0) text += `"size":${entry.size},`
  if (entry.mtime !== 0n) text += `"mtime":"${timeText(entry.mtime)}",`
  if (entry.uid !== 0) text += `"uid":${entry.uid},`
  if (entry.gid !== 0) text += `"gid":${entry.gid},`
  text += `"obj":"${entry.obj}"`
  if (entry.summary) text += `,"summ":${encodeSummary(entry.summary)}`
  return `${text}}`
}

/** Reads one entry from parsed JSON. Throws TypeError or RepoError when a field cannot be understood. */
export function readDirectoryEntry(value: StoredEntry): DirectoryEntry {
  const entry: DirectoryEntry = {
    name: textField(value, 'name'),
    type: entryType(value.type),
    mode: parseMode(value.mode),
    size: numberField(value, 'size'),
    mtime: timeField(value, 'mtime'),
    uid: numberField(value, 'uid'),
    gid: numberField(value, 'gid'),
    obj: objectId(textField(value, 'obj')),
  }
  if (value.summ) entry.summary = readSummary(value.summ as Record<string, unknown>)
  return entry
}

/** The entry as the plain value that manifests hold; encodes to the same text as `encodeDirectoryEntry`. */
export function directoryEntryValue(entry: DirectoryEntry): Record<string, unknown> {
  return {
    ...(entry.name !== '' && { name: storedName(entry.name) }),
    ...(entry.type !== '' && { type: entry.type }),
    ...(entry.mode !== 0 && { mode: modeText(entry.mode) }),
    ...(entry.size !== 0 && { size: entry.size }),
    ...(entry.mtime !== 0n && { mtime: formatGoTime(entry.mtime) }),
    ...(entry.uid !== 0 && { uid: entry.uid }),
    ...(entry.gid !== 0 && { gid: entry.gid }),
    obj: entry.obj,
    ...(entry.summary && { summ: summaryValue(entry.summary) }),
  }
}

function summaryValue(summary: DirectorySummary): Record<string, unknown> {
  return {
    size: summary.size,
    files: summary.files,
    symlinks: summary.symlinks,
    dirs: summary.dirs,
    maxTime: formatGoTime(summary.maxTime),
    ...(summary.incomplete && { incomplete: summary.incomplete }),
    numFailed: summary.numFailed,
    ...(summary.numIgnoredErrors !== 0 && { numIgnoredErrors: summary.numIgnoredErrors }),
    ...(summary.errors.length > 0 && {
      errors: summary.errors.map(({ path, error }) => ({ path: storedName(path), error: storedName(error) })),
    }),
  }
}

function encodeSummary(summary: DirectorySummary): string {
  let text = `{"size":${summary.size},"files":${summary.files},"symlinks":${summary.symlinks}`
  text += `,"dirs":${summary.dirs},"maxTime":"${formatGoTime(summary.maxTime)}"`
  if (summary.incomplete) text += `,"incomplete":${quote(summary.incomplete)}`
  text += `,"numFailed":${summary.numFailed}`
  if (summary.numIgnoredErrors !== 0) text += `,"numIgnoredErrors":${summary.numIgnoredErrors}`
  if (summary.errors.length > 0) text += `,"errors":[${summary.errors.map(encodeFailedEntry).join(',')}]`
  return `${text}}`
}

function encodeFailedEntry(failed: FailedEntry): string {
  return `{"path":${quote(failed.path)},"error":${quote(failed.error)}}`
}

function readSummary(value: StoredEntry): DirectorySummary {
  const errors = (value.errors ?? []) as Record<string, unknown>[]
  const summary: DirectorySummary = {
    size: numberField(value, 'size'),
    files: numberField(value, 'files'),
    symlinks: numberField(value, 'symlinks'),
    dirs: numberField(value, 'dirs'),
    maxTime: timeField(value, 'maxTime'),
    numFailed: numberField(value, 'numFailed'),
    numIgnoredErrors: numberField(value, 'numIgnoredErrors'),
    errors: errors.map(failed => ({ path: textField(failed, 'path'), error: textField(failed, 'error') })),
  }
  const incomplete = textField(value, 'incomplete')
  if (incomplete !== '') summary.incomplete = incomplete
  return summary
}

const plainText = /^[ !#-%'-;=?-[\]-~]*$/

// Most names need no escaping; the test is much cheaper than encoding.
function quote(text: string): string {
  return plainText.test(text) ? `"${text}"` : encodeGoJson(text)
}

function entryType(value: unknown): EntryType {
  return value === 'd' || value === 'f' || value === 's' ? value : ''
}

// Go's strconv.ParseInt with base 0: a leading 0 or 0o is octal, 0x hexadecimal, 0b binary, else decimal.
function parseMode(value: unknown): number {
  if (value === undefined || value === null) return 0
  const text = String(value)
  const mode = /^0[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number(text === '' ? Number.NaN : text)
  if (!Number.isSafeInteger(mode) || mode < 0 || mode >= modeLimit) {
    throw new TypeError(`mode ${JSON.stringify(value)} is not a file mode`)
  }
  return mode
}

function textField(value: StoredEntry, name: string): string {
  const field = value[name] ?? ''
  if (typeof field !== 'string') throw new TypeError(`${name} is not a string`)
  return field
}

function numberField(value: StoredEntry, name: string): number {
  const field = value[name] ?? 0
  if (typeof field === 'bigint') return Number(field)
  if (typeof field !== 'number') throw new TypeError(`${name} is not a number`)
  return field
}

function timeField(value: StoredEntry, name: string): GoTime {
  const field = value[name]
  return field === undefined || field === null ? 0n : parseGoTime(String(field))
}
