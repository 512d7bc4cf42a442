import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type SmallFile, SmallFiles } from './small-files.ts'
import type { UploadRun } from './upload-run.ts'
import type { SourceEntry } from './walk/source-entry.ts'
import type { SourceFolder } from './walk/source-folder.ts'

/** Files on their way through threads that wait to be told, and how many went together. */
function given() {
  const batches: number[] = []
  const gate = Promise.withResolvers<void>()
  const run = {
    target: { repository: { format: { format: { splitter: 'FIXED' } } } },
    threads: {
      isFull: false,
      sealFiles: async ({ paths }: { paths: string[] }) => {
        batches.push(paths.length)
        await gate.promise
        return { table: {}, counts: paths.map(() => 0), failures: [] }
      },
    },
    // Of walks, as machines of many processors have them.
    folders: { count: 5_000 },
    progress: { tell() {} },
    fail: assert.ifError,
  } as unknown as UploadRun
  const files = new SmallFiles(run)
  let settled = 0
  const add = (folder: SourceFolder) => {
    const entry = { name: 'f', size: 1, folder } as SourceEntry
    return files.add({ entry, options: {} as SmallFile['options'], settle: () => settled++ })
  }
  return { files, add, batches, open: gate.resolve, settled: () => settled }
}

const newFolder = () => ({ at: (name: string) => name }) as unknown as SourceFolder

describe('Small files', () => {
  it('travel in whole batches, however many folders the walks of a large machine have open', () => {
    const { files, add, batches } = given()
    using _ = files.walking()
    const folder = newFolder()
    for (let n = 0; n < 512; n++) assert.equal(add(folder), undefined)
    assert.deepEqual(batches, [256, 256])
  })

  it('hold no more than some hundred folders, and walks that wait for fewer send no batch each', async () => {
    const { files, add, batches, open, settled } = given()
    using _ = files.walking()
    for (let n = 0; n < 512; n++) assert.equal(add(newFolder()), undefined)
    const waits = Array.from({ length: 100 }, () => add(newFolder()))
    assert.deepEqual(batches, [256, 256, 1])
    open()
    await Promise.all(waits)
    assert.equal(settled(), 513)
    assert.equal(add(newFolder()), undefined)
    files.flush()
    assert.deepEqual(batches, [256, 256, 1, 100])
  })

  it('were left behind when nobody sent them any more: a walk waited for them, or the last one had ended', () => {
    const { files, add, batches } = given()
    const folder = newFolder()
    {
      using _ = files.walking()
      void add(folder)
      {
        using _ = files.awaiting()
        void add(folder)
        assert.deepEqual(batches, [1, 1])
      }
      void add(folder)
      assert.deepEqual(batches, [1, 1])
    }
    assert.deepEqual(batches, [1, 1, 1])
    void add(folder)
    assert.deepEqual(batches, [1, 1, 1, 1])
  })
})
