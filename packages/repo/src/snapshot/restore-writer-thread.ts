import { parentPort, workerData } from 'node:worker_threads'
import { timeSetter } from './exact-times.ts'
import { type BatchResult, type FileBatch, noMoreBatches } from './file-batch.ts'
import { type AttributeOptions, attributeSetter } from './restore-attributes.ts'
import { restoreNewFile } from './restore-new-file.ts'

const notes = new Set<string>()
const attributes = attributeSetter(workerData as AttributeOptions, timeSetter(), text => notes.add(text))
parentPort?.on('message', (batch: FileBatch | typeof noMoreBatches) => {
  if (batch === noMoreBatches) parentPort?.close()
  else parentPort?.postMessage(makeFiles(batch), [batch.bytes])
})

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
