import { ArchiveError, quoted } from './archive-error.ts'
import {
  type PaxRecords,
  parsePax,
  parseTarHeader,
  type TarEntry,
  tarBlock,
  textUntilZero,
} from './tar-entry.ts'

/** What a parser tells about an archive, as it comes. */
export interface TarSink {
  /** A file or a folder begins. */
  begin(entry: TarEntry): void
  /** Bytes of the file that began last, which must not be changed. */
  content(bytes: Buffer): void
  /** The file or folder that began last is complete. */
  end(): void
}

/** Of pax headers and long names: more than the longest path that is taken, less than what would matter in memory. */
const metaBytes = 64 * 1024

const zeros = Buffer.alloc(tarBlock)

type State = 'header' | 'content' | 'meta' | 'padding' | 'ending' | 'ended'

/**
 * Reads a tar archive (ustar, pax, GNU long names) that comes in pieces of any size. All methods throw ArchiveError, and what
 * the sink throws; nothing may be pushed after that.
 */
export class TarParser {
  readonly #sink: TarSink
  #state: State = 'header'
  /** Bytes of the part that is read now which are still to come. */
  #left = tarBlock
  #padding = 0
  /** A header that came in pieces, or the content of a header about the next one. */
  #held: Buffer[] = []
  #meta: TarEntry | undefined
  #pax: PaxRecords | undefined
  #longName: string | undefined

  constructor(sink: TarSink) {
    this.#sink = sink
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + this.#left)
      at += part.length
      this.#take(part)
    }
  }

  /** Says that nothing follows. An archive may lack its end, but not a part of an entry. */
  finish(): void {
    const between = (this.#state === 'header' || this.#state === 'ending') && this.#left === tarBlock
    if (this.#state !== 'ended' && (!between || this.#isAnnounced)) {
      throw new ArchiveError('ARCHIVE_TRUNCATED', 'it ends in the middle of an entry')
    }
  }

  /** A header about an entry came, and the entry did not. */
  get #isAnnounced(): boolean {
    return this.#pax !== undefined || this.#longName !== undefined
  }

  #take(part: Buffer): void {
    this.#left -= part.length
    switch (this.#state) {
      case 'header':
      case 'ending':
        this.#takeHeader(part)
        break
      case 'meta':
        this.#held.push(part)
        if (this.#left === 0) this.#endMeta(Buffer.concat(this.#held))
        break
      case 'content':
        this.#sink.content(part)
        if (this.#left === 0) this.#endContent()
        break
      case 'padding':
        if (this.#left === 0) this.#expect('header', tarBlock)
        break
      case 'ended':
        this.#expect('ended', tarBlock)
        if (!part.equals(zeros.subarray(0, part.length))) throw damaged('something follows its end')
    }
  }

  #takeHeader(part: Buffer): void {
    if (this.#left > 0) {
      this.#held.push(part)
      return
    }
    const block = this.#held.length === 0 ? part : Buffer.concat([...this.#held, part])
    const header = parseTarHeader(block)
    if (header === undefined) {
      if (this.#isAnnounced) throw damaged('a header is missing')
      this.#expect(this.#state === 'ending' ? 'ended' : 'ending', tarBlock)
    } else if (this.#state === 'ending') {
      throw damaged('something follows its end')
    } else {
      this.#begin(header)
    }
  }

  #begin(header: TarEntry): void {
    switch (header.type) {
      case 'file':
      case 'folder':
        this.#beginEntry(header)
        break
      case 'other': {
        const what = `it contains ${quoted(this.#longName ?? header.path)}, an entry of the type ${quoted(header.flag)}`
        throw new ArchiveError('ARCHIVE_ENTRY_TYPE', what)
      }
      default:
        if (header.size > metaBytes) throw new ArchiveError('ARCHIVE_TOO_LARGE', 'a path is too long')
        this.#meta = header
        this.#padding = paddingOf(header.size)
        this.#expect('meta', header.size)
        if (header.size === 0) this.#endMeta(Buffer.alloc(0))
    }
  }

  #beginEntry(header: TarEntry): void {
    if (this.#pax?.sparse) {
      throw new ArchiveError('ARCHIVE_ENTRY_TYPE', `it contains ${quoted(header.path)}, a sparse file`)
    }
    const entry = {
      ...header,
      path: this.#pax?.path ?? this.#longName ?? header.path,
      size: header.type === 'folder' ? 0 : (this.#pax?.size ?? header.size),
    }
    this.#pax = undefined
    this.#longName = undefined
    this.#padding = paddingOf(entry.size)
    this.#sink.begin(entry)
    this.#expect('content', entry.size)
    if (entry.size === 0) this.#endContent()
  }

  #endContent(): void {
    this.#sink.end()
    this.#afterContent()
  }

  #endMeta(content: Buffer): void {
    switch (this.#meta?.type) {
      case 'pax':
        this.#pax = parsePax(content)
        break
      case 'long name':
        this.#longName = textUntilZero(content)
        break
      default:
      // What concerns all entries, or targets of links, does not matter here.
    }
    this.#afterContent()
  }

  #afterContent(): void {
    if (this.#padding > 0) this.#expect('padding', this.#padding)
    else this.#expect('header', tarBlock)
  }

  #expect(state: State, bytes: number): void {
    this.#state = state
    this.#left = bytes
    this.#held = []
  }
}

function paddingOf(size: number): number {
  return (tarBlock - (size % tarBlock)) % tarBlock
}

function damaged(reason: string): ArchiveError {
  return new ArchiveError('ARCHIVE_DAMAGED', reason)
}
