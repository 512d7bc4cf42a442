import { parentPort, workerData } from 'node:worker_threads'
import { timeSetter } from './exact-times.ts'
import { type AttributeOptions, attributeSetter } from './restore-attributes.ts'
import { type NewFile, restoreNewFile } from './restore-new-file.ts'

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

const notes = new Set<string>()
const attributes = attributeSetter(workerData as AttributeOptions, timeSetter(), text => notes.add(text))
parentPort?.on('message', (batch: FileBatch) => parentPort?.postMessage(makeFiles(batch), [batch.bytes]))

function makeFiles({ number, bytes, files }: FileBatch): BatchResult {
  const failures: BatchResult['failures'] = []
  let start = 0
  for (const [index, file] of files.entries()) {
    try {
      restoreNewFile(file, new Uint8Array(bytes, start, file.length), attributes)
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException
      failures.push({ index, message, code })
    }
    start += file.length
  }
  const result = { number, bytes, failures, notes: [...notes] }
  notes.clear()
  return result
}
