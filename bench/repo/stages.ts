import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { blobId, openFilesystemStorage } from '@lateen/repo'
import { compressorByName } from '../../packages/repo/src/compression/compressor.ts'
import {
  createContentEncryption,
  defaultEncryptionName,
} from '../../packages/repo/src/encryption/content-encryption.ts'
import { createContentHash, defaultHashName } from '../../packages/repo/src/hashing/content-hash.ts'
import { createSplitter, defaultSplitterName } from '../../packages/repo/src/splitter/splitter.ts'
import type { BenchContext } from '../run.ts'
import type { DataSet } from './make-data.ts'

const stages = ['read', 'split', 'hash', 'compress', 'encrypt', 'write'] as const
type Stage = (typeof stages)[number]

/** Off unless a policy asks for it, so that an upload's time has no share of it. */
const compressorName = 'zstd-fastest'
const packSize = 20 << 20
const secret = Buffer.alloc(32, 7)

/**
 * Sends the data through the stages of an upload, each for itself and all on this one thread, and reports how fast each
 * is and how much of a whole upload's time it would take if nothing ran beside it.
 */
export async function measureStages(
  context: BenchContext,
  { set, scratch, uploadMs }: { set: DataSet; scratch: string; uploadMs: number | undefined },
): Promise<void> {
  context.progress(`stages, ${set.name}`)
  const { milliseconds, bytes } = await timeStages(set.folder, scratch)
  for (const stage of stages) {
    const value = bytes / 1e3 / milliseconds[stage]
    context.report({ what: `stage ${stage}, ${set.name}, one thread`, ours: { value, unit: 'MB/s' } })
  }
  if (uploadMs === undefined) return
  const shares = stages
    .filter(stage => stage !== 'compress')
    .map(stage => `${stage} ${Math.round((100 * milliseconds[stage]) / uploadMs)} %`)
  context.note(
    `stages as shares of the ${Math.round(uploadMs)} ms that the first upload of ${set.name} took: ${shares.join(', ')} ` +
      `(one thread each; compression with ${compressorName} is off by default)`,
  )
}

async function timeStages(folder: string, scratch: string) {
  const milliseconds = Object.fromEntries(stages.map(stage => [stage, 0])) as Record<Stage, number>
  const timed = <T>(stage: Stage, work: () => T): T => {
    const started = performance.now()
    const result = work()
    milliseconds[stage] += performance.now() - started
    return result
  }
  const splitter = createSplitter(defaultSplitterName)
  const hash = await createContentHash(defaultHashName, secret)
  const encryption = createContentEncryption({ name: defaultEncryptionName, secret })
  const compressor = compressorByName(compressorName)
  await using packs = await PackFolder.open(path.join(scratch, 'stages'))
  let bytes = 0
  for (const file of filesIn(folder)) {
    const data = timed('read', () => readFileSync(file))
    bytes += data.length
    const chunks = timed('split', () => cut(data, splitter))
    const hashes = timed('hash', () => chunks.map(chunk => hash.hash(chunk)))
    timed('compress', () => chunks.map(chunk => compressor.compress(chunk).length))
    const sealed = timed('encrypt', () =>
      chunks.map((chunk, i) => encryption.encrypt(chunk, hashes[i] ?? secret)),
    )
    const started = performance.now()
    for (const content of sealed) await packs.add(content)
    milliseconds.write += performance.now() - started
  }
  const started = performance.now()
  await packs.flush()
  milliseconds.write += performance.now() - started
  return { milliseconds, bytes }
}

function* filesIn(folder: string): Iterable<string> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) yield path.join(entry.parentPath, entry.name)
  }
}

function cut(data: Uint8Array, splitter: ReturnType<typeof createSplitter>): Uint8Array[] {
  const chunks: Uint8Array[] = []
  splitter.reset()
  let rest = data
  for (let at = splitter.nextCut(rest); at !== -1 && at < rest.length; at = splitter.nextCut(rest)) {
    chunks.push(rest.subarray(0, at))
    rest = rest.subarray(at)
  }
  return [...chunks, rest]
}

/** Collects contents into packs and stores those as an upload does. */
class PackFolder implements AsyncDisposable {
  readonly #storage: Awaited<ReturnType<typeof openFilesystemStorage>>
  #parts: Uint8Array[] = []
  #length = 0
  #count = 0

  static async open(folder: string): Promise<PackFolder> {
    return new PackFolder(await openFilesystemStorage({ path: folder, create: true }))
  }

  private constructor(storage: Awaited<ReturnType<typeof openFilesystemStorage>>) {
    this.#storage = storage
  }

  async add(content: Uint8Array): Promise<void> {
    this.#parts.push(content)
    this.#length += content.length
    if (this.#length >= packSize) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.#parts.length === 0) return
    this.#count += 1
    await this.#storage.put(blobId(`p${String(this.#count).padStart(32, '0')}`), this.#parts)
    this.#parts = []
    this.#length = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#storage[Symbol.asyncDispose]()
  }
}
