import type { SealedTableParts } from './sealed-table.ts'

/** What a thread is started with; the secrets never leave the process. */
export interface ThreadData {
  hash: { name: string; secret: Uint8Array }
  encryption: { name: string; secret: Uint8Array }
  /** A pack with this many bytes goes back. */
  maxPackSize: number
}

/** How the data of files is cut and compressed. */
export interface SealingRules {
  splitter: string
  compressor: string | undefined
}

/** Files that are read in one go. */
export interface FilesJob extends SealingRules {
  paths: (string | Uint8Array)[]
  /** What was seen of their sizes before. */
  sizes: number[]
  /** A file that has grown beyond this is left to a job of its own. */
  limit: number
}

/** One file, or a stretch of it. */
export interface FileJob extends SealingRules {
  path: string | Uint8Array
  offset: number
  /** To the end when absent. */
  length: number | undefined
}

/** How reading a file failed. */
export interface ReadFailure {
  message: string
  code: string
}

/** What became of the files of one job: their contents in order, and how many of them each file has. */
export interface SealedFiles {
  contents: SealedTableParts
  /** By file; 0 for one that has no contents because it failed or has grown. */
  counts: Uint32Array<ArrayBuffer>
  failures: { at: number; failure: ReadFailure }[]
}

/** To a thread. */
export type ToThread =
  | { kind: 'files'; job: number; files: FilesJob }
  | { kind: 'file'; job: number; file: FileJob }
  | { kind: 'abandon'; job: number }
  | { kind: 'pack'; buffer: Uint8Array<ArrayBuffer>; length: number }
  | { kind: 'decided'; admitted: Uint8Array }
  | { kind: 'answer'; known: boolean }
  | { kind: 'recall' }

/** From a thread. */
export type FromThread =
  | { kind: 'started' }
  | { kind: 'needs-pack'; kept: number }
  | { kind: 'ask'; hash: Uint8Array }
  | { kind: 'sealed-files'; job: number; sealed: SealedFiles }
  | { kind: 'sealed-chunk'; job: number; contents: SealedTableParts }
  | { kind: 'file-done'; job: number; failure: ReadFailure | undefined }
  | { kind: 'full'; buffer: Uint8Array<ArrayBuffer> }
  | { kind: 'recalled'; buffer: Uint8Array<ArrayBuffer> }
