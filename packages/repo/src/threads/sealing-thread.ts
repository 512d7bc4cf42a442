/** What runs in each thread: it reads files, seals their contents into packs, and has the main thread decide what is new. */
import { setImmediate } from 'node:timers/promises'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createContentEncryption } from '../encryption/content-encryption.ts'
import { createContentHash } from '../hashing/content-hash.ts'
import { preambleLength } from '../pack/pack-preamble.ts'
import { PackFiller } from './pack-filler.ts'
import { sealFile } from './seal-file.ts'
import { sealFiles } from './seal-files.ts'
import { SealedTable } from './sealed-table.ts'
import type { FileJob, FilesJob, FromThread, ThreadData, ToThread } from './thread-messages.ts'

type Job = Extract<ToThread, { kind: 'files' | 'file' }>

// One is decided on while the next one is sealed.
const mostUndecided = 1

class SealingThread {
  readonly #port: MessagePort
  readonly #data: ThreadData
  readonly #hashLength: number
  readonly #filler: PackFiller
  readonly #jobs: Job[] = []
  readonly #abandoned = new Set<number>()
  /** Decisions that came while there was no pack to apply them to. */
  #decisions: Uint8Array[] = []
  #kept: Uint8Array | undefined
  #answer: boolean | undefined
  /** Set while what was admitted without a pack is wanted back. */
  #withPack: (() => void) | undefined
  #wake: () => void = () => {}

  constructor(port: MessagePort, data: ThreadData, filler: { filler: PackFiller; hashLength: number }) {
    this.#port = port
    this.#data = data
    this.#filler = filler.filler
    this.#hashLength = filler.hashLength
  }

  async run(): Promise<never> {
    this.#port.on('message', (message: ToThread) => {
      this.#take(message)
      this.#wake()
    })
    this.#post({ kind: 'started' })
    this.#post({ kind: 'needs-pack', kept: 0 })
    for (;;) {
      const job = this.#jobs.shift()
      if (job === undefined) await this.#change()
      else if (job.kind === 'files') await this.#sealFiles(job.job, job.files)
      else await this.#sealFile(job.job, job.file)
    }
  }

  #take(message: ToThread): void {
    switch (message.kind) {
      case 'files':
      case 'file':
        this.#jobs.push(message)
        break
      case 'abandon':
        this.#abandoned.add(message.job)
        break
      case 'pack':
        this.#filler.begin(message.buffer, { length: message.length, kept: this.#kept })
        this.#kept = undefined
        for (const admitted of this.#decisions.splice(0)) this.#filler.decide(admitted)
        this.#withPack?.()
        break
      case 'decided':
        if (this.#filler.hasPack) this.#filler.decide(message.admitted)
        else this.#decisions.push(message.admitted)
        break
      case 'answer':
        this.#answer = message.known
        break
      case 'recall':
        // What was admitted without a pack comes back as soon as there is one.
        if (this.#filler.hasPack) this.#comeBack()
        else this.#withPack = () => this.#comeBack()
    }
  }

  async #sealFiles(job: number, files: FilesJob): Promise<void> {
    await this.#ready()
    this.#abandoned.delete(job)
    const { table, counts, failures } = sealFiles(this.#filler, files, this.#hashLength)
    this.#filler.propose(table)
    this.#post({ kind: 'sealed-files', job, sealed: { contents: table.parts(), counts, failures } })
  }

  async #sealFile(job: number, file: FileJob): Promise<void> {
    const filler = this.#filler
    const ready = () => this.#ready()
    const chunk = async (length: number) => {
      await this.#sealChunk(job, length, file.compressor)
      return !this.#abandoned.has(job)
    }
    const failure = await sealFile({ filler, ready, chunk }, file)
    this.#abandoned.delete(job)
    this.#post({ kind: 'file-done', job, failure })
  }

  async #sealChunk(job: number, length: number, compressor: string | undefined): Promise<void> {
    const ofZeros = this.#filler.nameOfZeros(length)
    const hash = ofZeros ?? this.#filler.name(length)
    const table = SealedTable.withRoom(this.#hashLength, 1)
    if ((compressor !== undefined || ofZeros !== undefined) && (await this.#isKnown(hash))) {
      this.#filler.drop(length)
      table.add(hash, { packedLength: 0, originalLength: length, compressionId: 0 })
    } else {
      table.add(hash, this.#filler.seal(length, { hash, compressor }))
    }
    this.#filler.propose(table)
    this.#post({ kind: 'sealed-chunk', job, contents: table.parts() })
    await setImmediate()
    await this.#ready()
  }

  /** Worth asking before the work of compressing, and about what is there again and again. */
  async #isKnown(hash: Uint8Array): Promise<boolean> {
    this.#answer = undefined
    this.#post({ kind: 'ask', hash })
    while (this.#answer === undefined) await this.#change()
    const known = this.#answer
    await this.#ready()
    return known
  }

  async #ready(): Promise<void> {
    const filler = this.#filler
    while (filler.undecided > mostUndecided) await this.#change()
    if (filler.length >= this.#data.maxPackSize) {
      while (filler.undecided > 0) await this.#change()
      if (filler.hasPack && filler.length >= this.#data.maxPackSize) {
        const buffer = this.#release()
        this.#post({ kind: 'full', buffer }, [buffer.buffer])
        this.#post({ kind: 'needs-pack', kept: this.#kept?.length ?? 0 })
      }
    }
    while (!filler.hasPack) await this.#change()
  }

  /** Hands over what was admitted so far, because the main thread needs it now. */
  #comeBack(): void {
    this.#withPack = undefined
    const buffer = this.#release()
    this.#post({ kind: 'recalled', buffer }, [buffer.buffer])
    this.#post({ kind: 'needs-pack', kept: this.#kept?.length ?? 0 })
  }

  #release(): Uint8Array<ArrayBuffer> {
    const { buffer, kept } = this.#filler.release()
    this.#kept = kept
    return buffer
  }

  #post(message: FromThread, transferred: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transferred)
  }

  #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    return promise
  }
}

if (parentPort !== null) {
  const data = workerData as ThreadData
  const hash = await createContentHash(data.hash.name, data.hash.secret)
  const encryption = createContentEncryption(data.encryption)
  const filler = new PackFiller({ hash, encryption, start: preambleLength })
  await new SealingThread(parentPort, data, { filler, hashLength: hash.length }).run()
}
