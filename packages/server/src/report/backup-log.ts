import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock, Logger } from '@lateen/kube'
import { formatLogLine, type LogLevel, logLevels } from './log-line.ts'
import type { BackupLog, Results } from './report.ts'
import { ResultCollector } from './results.ts'

export interface BackupLogOptions {
  /** A folder for the file; it exists, and only this log uses the name. */
  scratch: string
  /** Lines below this level are dropped. */
  level: LogLevel
  format: 'text' | 'json'
  clock: Clock
  /** On every line, such as `{ backup: 'velero/nightly' }`. */
  fields?: Record<string, unknown>
  /** Hears warnings and errors, too, so that they are in the server's own log. */
  also?: Logger
}

const compress = promisify(gzip)

// Lines are compressed in pieces of this length, each a gzip member of its own; every gzip reader joins them.
const pieceLength = 256 << 10

/** Begins the log of a backup. Disposing removes its file. */
export async function createBackupLog(options: BackupLogOptions): Promise<BackupLog> {
  const file = path.join(options.scratch, 'log.gz')
  return new FileLog(options, file, await open(file, 'w'))
}

class FileLog implements BackupLog {
  readonly #options: BackupLogOptions
  readonly #path: string
  readonly #file: FileHandle
  readonly #warnings = new ResultCollector()
  readonly #errors = new ResultCollector()
  #lines: string[] = []
  #length = 0
  #begun: boolean = false
  #writing: Promise<void> = Promise.resolve()
  #failure: unknown

  constructor(options: BackupLogOptions, path: string, file: FileHandle) {
    this.#options = options
    this.#path = path
    this.#file = file
  }

  get warnings(): number {
    return this.#warnings.count
  }

  get errors(): number {
    return this.#errors.count
  }

  get results(): Results {
    return { errors: this.#errors.result(), warnings: this.#warnings.result() }
  }

  debug(fields: object, message: string): void {
    this.#write('debug', { ...fields }, message)
  }

  info(fields: object, message: string): void {
    this.#write('info', { ...fields }, message)
  }

  warn(fields: object, message: string): void {
    this.#write('warning', { ...fields }, message)
  }

  error(fields: object, message: string): void {
    this.#write('error', { ...fields }, message)
  }

  child(fields: object): Logger {
    return childOf(this, fields)
  }

  async open(): Promise<AsyncIterable<Uint8Array>> {
    // A file of no bytes is no gzip file.
    if (!this.#begun) this.#lines.push('')
    this.#flush()
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure
    return createReadStream(this.#path)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing
    await this.#file.close()
    await rm(this.#path, { force: true })
  }

  #write(level: LogLevel, fields: Record<string, unknown>, message: string): void {
    if (level === 'warning') this.#warnings.add({ fields, message })
    if (level === 'error') this.#errors.add({ fields, message })
    if (level === 'warning') this.#options.also?.warn({ ...this.#options.fields, ...fields }, message)
    if (level === 'error') this.#options.also?.error({ ...this.#options.fields, ...fields }, message)
    if (logLevels.indexOf(level) < logLevels.indexOf(this.#options.level)) return
    const { clock, format } = this.#options
    const event = { time: clock.now(), level, message, fields: { ...this.#options.fields, ...fields } }
    const line = `${formatLogLine(event, format)}\n`
    this.#lines.push(line)
    this.#length += line.length
    if (this.#length >= pieceLength) this.#flush()
  }

  /** What is lost when the disk is full is told by `open`; the backup goes on. */
  #flush(): void {
    if (this.#lines.length === 0) return
    this.#begun = true
    const text = this.#lines.join('')
    this.#lines = []
    this.#length = 0
    this.#writing = this.#writing
      .then(async () => void (await this.#file.appendFile(await compress(text))))
      .catch(error => {
        this.#failure ??= error
      })
  }
}

function childOf(log: Logger, own: object): Logger {
  return {
    debug: (fields, message) => log.debug({ ...own, ...fields }, message),
    info: (fields, message) => log.info({ ...own, ...fields }, message),
    warn: (fields, message) => log.warn({ ...own, ...fields }, message),
    error: (fields, message) => log.error({ ...own, ...fields }, message),
    child: fields => childOf(log, { ...own, ...fields }),
  }
}
