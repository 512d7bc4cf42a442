import type { NewFile } from './restore-new-file.ts'

/** Files to make, their bytes one after the other. */
export interface FileBatch {
  number: number
  bytes: ArrayBuffer
  files: (NewFile & { length: number })[]
}

/** What became of a batch. The bytes come back to be used again. */
export interface BatchResult {
  number: number
  bytes: ArrayBuffer
  /** By the place of the file in the batch; those that are not here were made. */
  failures: { index: number; message: string; code: string | undefined }[]
  notes: string[]
}

/** Said to a thread in place of a batch: it ends. */
export const noMoreBatches = null
