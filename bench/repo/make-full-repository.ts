import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createRepository, openFilesystemStorage, type RepositoryWriter } from '@lateen/repo'
import type { DataSet } from './make-data.ts'

const contentCount = 1_000_000

/**
 * A repository with a million contents of 16 bytes, written by our engine and made once. It has the indexes of ten
 * sessions, none of them compacted, which is what a first upload of as many files leaves behind.
 */
export async function makeFullRepository(root: string, password: string): Promise<DataSet> {
  const full = { name: '1,000,000 contents', folder: path.join(root, 'full-repository') }
  const mark = `${full.folder}.complete`
  if (existsSync(mark)) return full
  rmSync(full.folder, { recursive: true, force: true })
  mkdirSync(full.folder, { recursive: true })
  const storage = await openFilesystemStorage({ path: full.folder })
  await using repository = await createRepository({ storage, password })
  await repository.writing({}, writeContents)
  writeFileSync(mark, '')
  return full
}

async function writeContents({ contents }: RepositoryWriter): Promise<void> {
  const data = Buffer.alloc(16, 'lateen bench')
  for (let number = 0; number < contentCount; number += 1) {
    data.writeUInt32BE(number)
    if (contents.tryWrite(data) === undefined) await contents.write(data)
  }
}
