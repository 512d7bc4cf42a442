import { createHash } from 'node:crypto'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Readable } from 'node:stream'
import { createSecureContext, getCACertificates } from 'node:tls'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  PutObjectRetentionCommand,
  S3Client,
  type S3ClientConfig,
  type StorageClass,
} from '@aws-sdk/client-s3'
import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { isMissingObject, type S3Operation, s3Error, statusOf } from './s3-error.ts'
import { parseStorageConfig, type StorageClassRule, storageClassFor } from './s3-storage-config.ts'
import {
  type BlobData,
  type BlobId,
  type BlobMetadata,
  type BlobOptions,
  type BlobRetention,
  type BlobStorage,
  blobNotFound,
  checkRange,
  type GetBlobOptions,
  invalidRange,
  isBlobId,
  joinedData,
  type PutBlobOptions,
  rangeWithin,
} from './storage.ts'

/** Keys to sign requests with. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  /** When a function gave them: ask it again before this time. */
  readonly expiration?: Date | undefined
}

/** Settings of a repository in a bucket. */
export interface S3StorageOptions {
  readonly bucket: string
  /** Goes in front of every blob's id as it is: end it with `/` if it is to look like a folder. */
  readonly prefix?: string | undefined
  /** A URL, or host and port as Kopia has it; Amazon's own when not given. */
  readonly endpoint?: string | undefined
  /** For an endpoint that is no URL: false speaks plain HTTP. */
  readonly tls?: boolean | undefined
  /** `us-east-1` when not given, which servers other than Amazon's take as a rule. */
  readonly region?: string | undefined
  /** The SDK's usual sources (environment, files, roles) when not given. */
  readonly credentials?: S3Credentials | (() => Promise<S3Credentials>) | undefined
  /** Bucket in the path instead of the host name; on with an endpoint, off without when not given. */
  readonly pathStyle?: boolean | undefined
  /** PEM, trusted besides the system's. */
  readonly caCertificate?: string | undefined
  /** Accept any certificate of the server. */
  readonly insecureSkipTlsVerify?: boolean | undefined
  /** How many requests go out at the same time; 32 when not given. */
  readonly connections?: number | undefined
  /** How long to wait for a connection (10 s when not given), and for the next byte on one (60 s). */
  readonly timeouts?: { readonly connectMs?: number; readonly idleMs?: number } | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Opens a bucket as Kopia uses it: the key is prefix and blob id, each blob is one PUT that is signed with its SHA-256, `.storageconfig`
 * beside the blobs tells storage classes and stays hidden. Does each request once: put `retrying` around it. Rejects
 * when the bucket cannot be read, and with `CORRUPT` for a `.storageconfig` that cannot be understood.
 */
export async function openS3Storage(options: S3StorageOptions): Promise<BlobStorage> {
  const client = new S3Client(clientConfig(options))
  const storage = new S3Storage(client, options)
  try {
    await storage.readStorageConfig(options.signal)
  } catch (error) {
    client.destroy()
    throw error
  }
  return storage
}

const contentType = 'application/x-kopia'
const storageConfigName = '.storageconfig'

class S3Storage implements BlobStorage {
  readonly description: string
  readonly #client: S3Client
  readonly #bucket: string
  readonly #prefix: string
  #storageClasses: readonly StorageClassRule[] = []
  /** Buckets that lock objects by themselves demand it. For others the SHA-256 in the signature suffices, at half the price. */
  #wantsMd5 = false

  constructor(client: S3Client, { bucket, prefix = '' }: S3StorageOptions) {
    this.description = `s3://${bucket}/${prefix}`
    this.#client = client
    this.#bucket = bucket
    this.#prefix = prefix
  }

  async readStorageConfig(signal?: AbortSignal): Promise<void> {
    const operation = this.#operation('read the storage configuration', { signal })
    const bytes = await this.#on(operation, async () => {
      const answer = await unlessMissing(
        this.#client.send(new GetObjectCommand(this.#named(storageConfigName)), sent({ signal })),
      )
      return answer === undefined ? undefined : bodyOf(answer)
    })
    if (bytes !== undefined)
      this.#storageClasses = parseStorageConfig(Buffer.from(bytes).toString(), this.description)
  }

  async get(id: BlobId, options: GetBlobOptions = {}): Promise<Uint8Array> {
    throwIfCancelled(options.signal)
    checkRange(id, options)
    if (options.length === 0) {
      rangeWithin(id, (await this.head(id, options)).length, options)
      return new Uint8Array()
    }
    return this.#on(this.#operation('read', { ...options, id }), async () => {
      const range = rangeHeader(options)
      const command = new GetObjectCommand({
        ...this.#named(id),
        ...(range !== undefined && { Range: range }),
      })
      const answer = await this.#client
        .send(command, sent(options))
        .catch(error => this.#nothingRead(id, options, error))
      return answer instanceof Uint8Array ? answer : wantedPart(id, options, answer)
    })
  }

  /** What a refused read means: no such blob, or a range that does not begin in it, which the empty rest does not. */
  async #nothingRead(id: BlobId, options: GetBlobOptions, error: unknown): Promise<Uint8Array> {
    if (isMissingObject(error)) throw blobNotFound(id, this.description, error)
    if (statusOf(error) !== 416) throw error
    const { length } = await this.head(id, { signal: options.signal })
    if (rangeWithin(id, length, options).length === 0) return new Uint8Array()
    throw invalidRange(id, options, 'the server refuses the range')
  }

  async head(id: BlobId, { signal }: BlobOptions = {}): Promise<BlobMetadata> {
    throwIfCancelled(signal)
    return this.#on(this.#operation('look at', { id, signal }), async () => {
      const answer = await unlessMissing(
        this.#client.send(new HeadObjectCommand(this.#named(id)), sent({ signal })),
      )
      if (answer === undefined) throw blobNotFound(id, this.description)
      return { id, length: answer.ContentLength ?? 0, timestamp: wholeSeconds(answer.LastModified) }
    })
  }

  async put(id: BlobId, data: BlobData, options: PutBlobOptions = {}): Promise<void> {
    throwIfCancelled(options.signal)
    const body = joinedData(data)
    const storageClass = storageClassFor(this.#storageClasses, id)
    const { retention } = options
    const command = () =>
      new PutObjectCommand({
        ...this.#named(id),
        Body: body,
        ContentLength: body.length,
        ...((retention !== undefined || this.#wantsMd5) && { ContentMD5: md5Of(body) }),
        ContentType: contentType,
        ...(storageClass !== undefined && { StorageClass: storageClass as StorageClass }),
        ...(retention && {
          ObjectLockMode: retention.mode,
          ObjectLockRetainUntilDate: new Date(retention.until),
        }),
      })
    await this.#on(this.#operation('write', { ...options, id, writing: true }), () =>
      this.#client.send(command(), sent(options)).catch((error: unknown) => {
        if (!demandsMd5(error)) throw error
        this.#wantsMd5 = true
        return this.#client.send(command(), sent(options))
      }),
    )
  }

  async retain(id: BlobId, { mode, until }: BlobRetention, { signal }: BlobOptions = {}): Promise<void> {
    throwIfCancelled(signal)
    await this.#on(this.#operation('protect', { id, signal, writing: true }), () =>
      this.#client.send(
        new PutObjectRetentionCommand({
          ...this.#named(id),
          Retention: { Mode: mode, RetainUntilDate: new Date(until) },
        }),
        sent({ signal }),
      ),
    )
  }

  async delete(id: BlobId, { signal }: BlobOptions = {}): Promise<void> {
    throwIfCancelled(signal)
    await this.#on(this.#operation('delete', { id, signal, writing: true }), () =>
      unlessMissing(this.#client.send(new DeleteObjectCommand(this.#named(id)), sent({ signal }))),
    )
  }

  async *list(prefix: string, { signal }: BlobOptions = {}): AsyncGenerator<BlobMetadata> {
    let token: string | undefined
    do {
      throwIfCancelled(signal)
      const page = await this.#page(prefix, token, signal)
      for (const { Key: key = '', Size: length = 0, LastModified } of page.Contents ?? []) {
        const id = key.slice(this.#prefix.length)
        if (isBlobId(id)) yield { id, length, timestamp: wholeSeconds(LastModified) }
      }
      token = this.#nextToken(page, token)
    } while (token !== undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy()
  }

  async #page(prefix: string, token: string | undefined, signal: AbortSignal | undefined) {
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      Prefix: this.#prefix + prefix,
      Delimiter: '/',
      ...(token !== undefined && { ContinuationToken: token }),
    })
    return this.#on(this.#operation(`list the blobs that start with "${prefix}"`, { signal }), () =>
      this.#client.send(command, sent({ signal })),
    )
  }

  /** A listing that stops early or turns in circles would make blobs look deleted. */
  #nextToken(page: ListObjectsV2CommandOutput, token: string | undefined): string | undefined {
    if (!page.IsTruncated) return undefined
    const next = page.NextContinuationToken
    if (next !== undefined && next !== '' && next !== token) return next
    throw new RepoError('STORAGE_FAILED', {
      message: `Cannot list the blobs in ${this.description}: the server says there are more, but not where`,
      hint: 'Check that the server implements ListObjectsV2.',
    })
  }

  #named(id: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + id }
  }

  #operation(
    verb: string,
    about: { id?: BlobId; signal?: AbortSignal | undefined; writing?: boolean },
  ): S3Operation {
    const { id, signal, writing = false } = about
    const doing = id === undefined ? verb : `${verb} blob ${id}`
    return { doing, place: this.description, writing, signal, blobId: id }
  }

  async #on<T>(operation: S3Operation, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      throw s3Error(error, operation)
    }
  }
}

function md5Of(body: Uint8Array): string {
  return createHash('md5').update(body).digest('base64')
}

/** Amazon says `InvalidRequest` and names the header, others `MissingContentMD5`. */
function demandsMd5(error: unknown): boolean {
  return error instanceof Error && /content-?md5/i.test(`${error.name} ${error.message}`)
}

/** Without length the range goes to the end; all of a blob needs none. */
function rangeHeader({ offset = 0, length }: GetBlobOptions): string | undefined {
  if (length !== undefined) return `bytes=${offset}-${offset + length - 1}`
  return offset === 0 ? undefined : `bytes=${offset}-`
}

/** Servers cut a range that reaches beyond the end, and may send everything instead of a range. */
async function wantedPart(
  id: BlobId,
  options: GetBlobOptions,
  answer: GetObjectCommandOutput,
): Promise<Uint8Array> {
  const body = await bodyOf(answer)
  if (rangeHeader(options) !== undefined && answer.ContentRange === undefined) {
    const { offset, length } = rangeWithin(id, body.length, options)
    return body.slice(offset, offset + length)
  }
  if (options.length !== undefined && body.length !== options.length) {
    throw invalidRange(id, options, `the server gave ${body.length} bytes`)
  }
  return body
}

/** Reads as many bytes as the answer announced, straight into place. Throws when fewer or more came. */
async function bodyOf({ Body: body, ContentLength: length }: GetObjectCommandOutput): Promise<Uint8Array> {
  if (!(body instanceof Readable)) throw new Error('the answer has no body')
  if (length === undefined) return Buffer.concat(await Array.fromAsync<Uint8Array>(body))
  const bytes = Buffer.allocUnsafeSlow(length)
  let received = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    if (received + chunk.length <= length) bytes.set(chunk, received)
    received += chunk.length
  }
  if (received === length) return bytes
  throw new Error(`${received} bytes came where ${length} were announced`)
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw error
  }
}

/** Listings have fractions where HTTP dates have none: cut off, so that a blob has one timestamp. */
function wholeSeconds(time: Date | undefined): number {
  return Math.floor((time?.getTime() ?? 0) / 1000) * 1000
}

function sent({ signal }: BlobOptions): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal }
}

function clientConfig(options: S3StorageOptions): S3ClientConfig {
  const { region = 'us-east-1', credentials, timeouts = {} } = options
  const endpoint = options.endpoint === undefined ? undefined : urlOf(options.endpoint, options.tls ?? true)
  return {
    region,
    maxAttempts: 1,
    forcePathStyle: options.pathStyle ?? endpoint !== undefined,
    followRegionRedirects: endpoint === undefined,
    // The signature holds the SHA-256; servers other than Amazon's refuse checksums that they do not know.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials !== undefined && {
      credentials: credentials as NonNullable<S3ClientConfig['credentials']>,
    }),
    requestHandler: {
      connectionTimeout: timeouts.connectMs ?? 10_000,
      socketTimeout: timeouts.idleMs ?? 60_000,
      ...agentFor(endpoint ?? 'https:', options),
    },
  }
}

function agentFor(
  url: string,
  options: S3StorageOptions,
): { httpAgent: HttpAgent } | { httpsAgent: HttpsAgent } {
  const agent = { keepAlive: true, maxSockets: options.connections ?? 32 }
  if (url.startsWith('http:')) return { httpAgent: new HttpAgent(agent) }
  const secureContext = createSecureContext({ ca: trusted(options.caCertificate) })
  const rejectUnauthorized = !options.insecureSkipTlsVerify
  return { httpsAgent: new HttpsAgent({ ...agent, secureContext, rejectUnauthorized }) }
}

function urlOf(endpoint: string, tls: boolean): string {
  return /^https?:\/\//.test(endpoint) ? endpoint : `${tls ? 'https' : 'http'}://${endpoint}`
}

function trusted(caCertificate: string | undefined): string[] {
  const known = [...getCACertificates('default'), ...getCACertificates('system')]
  return caCertificate === undefined ? known : [...known, caCertificate]
}
