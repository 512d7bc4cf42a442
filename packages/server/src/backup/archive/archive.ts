/**
 * The tar.gz of a backup while it is written, in scratch. It begins with `metadata/version`, which is there from the start.
 * Entries may be added from several places at once.
 */
export interface ArchiveWriter extends AsyncDisposable {
  /** Appends a file. Resolves when more may be added: memory stays bounded however fast entries come. */
  add(path: string, content: Uint8Array): Promise<void>
  /** Ends the archive. Nothing can be added after it. */
  finish(): Promise<FinishedArchive>
}

/** A complete archive in scratch; removed with the writer it came from. */
export interface FinishedArchive {
  readonly path: string
  readonly bytes: number
  /** From the start, as often as wanted: an upload may have to be repeated. */
  open(): AsyncIterable<Uint8Array>
}
