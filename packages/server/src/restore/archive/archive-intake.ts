import type { Spool } from '../../scratch/spool.ts'
import { ArchiveError, quoted } from './archive-error.ts'
import type { ArchiveLimits } from './archive-limits.ts'
import type { Catalogue } from './catalogue.ts'
import { entryKey, type ItemPath, parseItemPath } from './entry-path.ts'
import type { TarEntry } from './tar-entry.ts'
import type { TarSink } from './tar-parser.ts'

/** Where the entries of an archive go. */
export interface IntakeOptions {
  spool: Spool
  catalogue: Catalogue
  limits: ArchiveLimits
}

/** What happens to the content of an entry. */
type Target =
  | { kind: 'nothing' }
  | { kind: 'version' }
  | { kind: 'body'; path: ItemPath }
  /** Written as it comes, because it is large. */
  | { kind: 'stream'; path: ItemPath; offset: number }

const versionKey = 'metadata/version'
const maxVersionBytes = 256
/** Bodies up to this size are gathered before they are written, to see whether the one before was the same. */
const gatheredBytes = 1024 * 1024
const maxExamples = 10

/** Takes in the entries of an archive: bodies go to scratch, the rest into the catalogue. Throws ArchiveError. */
export class ArchiveIntake implements TarSink {
  readonly #options: IntakeOptions
  readonly #examples: string[] = []
  #entries = 0
  #ignored = 0
  #formatVersion: string | undefined
  #entry: TarEntry | undefined
  #target: Target = { kind: 'nothing' }
  #gathered: Buffer[] = []
  /** The last body that was gathered. */
  #last: { bytes: Buffer; offset: number } | undefined

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** The content of `metadata/version`; undefined until it came. */
  get formatVersion(): string | undefined {
    return this.#formatVersion
  }

  get ignored(): { count: number; examples: readonly string[] } {
    return { count: this.#ignored, examples: this.#examples }
  }

  begin(entry: TarEntry): void {
    const { limits } = this.#options
    this.#entries++
    if (this.#entries > limits.entries) {
      throw new ArchiveError('ARCHIVE_TOO_LARGE', `it has more than ${limits.entries} entries`)
    }
    const key = entryKey(entry.path, limits)
    if (entry.size > limits.entryBytes) {
      throw new ArchiveError(
        'ARCHIVE_TOO_LARGE',
        `the entry ${quoted(key)} has ${entry.size} bytes, more than ${limits.entryBytes}`,
      )
    }
    this.#entry = entry
    this.#gathered = []
    this.#target = entry.type === 'folder' ? { kind: 'nothing' } : this.#targetOf(key, entry.size)
  }

  content(bytes: Buffer): void {
    if (this.#target.kind === 'stream') this.#options.spool.append(bytes)
    else if (this.#target.kind !== 'nothing') this.#gathered.push(bytes)
  }

  end(): void {
    const target = this.#target
    switch (target.kind) {
      case 'nothing':
        break
      case 'version':
        this.#endVersion()
        break
      case 'stream':
        this.#options.catalogue.add(target.path, { offset: target.offset, length: this.#entry?.size ?? 0 })
        break
      case 'body':
        this.#endBody(target.path)
    }
    this.#gathered = []
  }

  #targetOf(key: string, size: number): Target {
    if (key === versionKey) return { kind: 'version' }
    const path = parseItemPath(key)
    if (path === undefined) {
      this.#ignored++
      if (this.#examples.length < maxExamples) this.#examples.push(key)
      return { kind: 'nothing' }
    }
    const { catalogue, limits, spool } = this.#options
    if (catalogue.nameLength > limits.catalogueBytes) {
      throw new ArchiveError(
        'ARCHIVE_TOO_LARGE',
        `the names of its objects have more than ${limits.catalogueBytes} bytes`,
      )
    }
    return size > gatheredBytes ? { kind: 'stream', path, offset: spool.length } : { kind: 'body', path }
  }

  #endVersion(): void {
    if (this.#formatVersion !== undefined) {
      throw new ArchiveError('ARCHIVE_DUPLICATE', `it contains ${quoted(versionKey)} twice`)
    }
    const text = Buffer.concat(this.#gathered).toString().trim()
    if (text === '' || text.length > maxVersionBytes) {
      throw new ArchiveError('ARCHIVE_NOT_BACKUP', `its entry ${quoted(versionKey)} tells no version`)
    }
    this.#formatVersion = text
  }

  #endBody(path: ItemPath): void {
    const { catalogue, spool } = this.#options
    const [only, ...others] = this.#gathered
    const bytes = only !== undefined && others.length === 0 ? only : Buffer.concat(this.#gathered)
    const same = this.#last?.bytes.equals(bytes) ? this.#last : undefined
    if (same !== undefined && catalogue.addCopy(path)) return
    const offset = same?.offset ?? spool.append(bytes)
    catalogue.add(path, { offset, length: bytes.length })
    this.#last = { bytes, offset }
  }
}
