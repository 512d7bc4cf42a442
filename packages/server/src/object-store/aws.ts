import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { FencedError } from '@lateen/kube'
import {
  type InitOptions,
  isObjectStoreError,
  type KeyOptions,
  type ListOptions,
  type ListPrefixesOptions,
  type ObjectStore,
  ObjectStoreError,
  type PutOptions,
  portableKeyProblem,
  type SignedUrlOptions,
} from '@lateen/plugin'
import { type AwsClients, type AwsEnvironment, openAwsClients } from './aws-client.ts'
import { type AwsConfig, parseAwsConfig, type ServerSideEncryption } from './aws-config.ts'
import { awsError } from './aws-errors.ts'
import { readBody } from './body.ts'

export interface AwsStoreOptions extends AwsEnvironment {
  /** Reads one key of a secret in the server's namespace, for `customerKeyEncryptionSecret`. */
  readSecret: (reference: { name: string; key: string }, signal?: AbortSignal) => Promise<Uint8Array>
}

/** S3 takes 10,000 parts, so 16 MiB allow objects of 156 GiB; three in flight and one filling are 64 MiB. */
const PART_BYTES = 16 * 1024 * 1024
const PARTS_IN_FLIGHT = 3

interface CustomerKey {
  SSECustomerAlgorithm: 'AES256'
  SSECustomerKey: string
  SSECustomerKeyMD5: string
}

interface Opened extends AwsClients {
  config: AwsConfig
  customerKey: CustomerKey | undefined
}

/** Any S3, with the settings of velero-plugin-for-aws. */
export class AwsStore implements ObjectStore {
  readonly #options: AwsStoreOptions
  #opened: Opened | undefined

  constructor(options: AwsStoreOptions) {
    this.#options = options
  }

  async init({ config: settings, signal }: InitOptions): Promise<void> {
    signal?.throwIfAborted()
    const config = parseAwsConfig(settings)
    const customerKey = await this.#customerKeyOf(config.encryption, signal)
    try {
      this.#opened = { ...(await openAwsClients(config, this.#options, signal)), config, customerKey }
    } catch (error) {
      signal?.throwIfAborted()
      throw awsError(error, { endpoint: endpointName(config), bucket: config.bucket })
    }
  }

  async putObject({ bucket, key, body, signal }: PutOptions): Promise<void> {
    const problem = portableKeyProblem(key)
    if (problem !== undefined) {
      throw new ObjectStoreError('UNSAFE_KEY', {
        reason: `the key ${JSON.stringify(key)} is refused: ${problem}`,
      })
    }
    await this.#calling({ bucket, key, signal }, async ({ client, config, customerKey }) => {
      const upload = new Upload({
        client,
        partSize: PART_BYTES,
        queueSize: PARTS_IN_FLIGHT,
        params: {
          Bucket: bucket,
          Key: key,
          // An abort reaches the upload as a failing body, so that it takes its parts back before it ends.
          Body: Readable.from(readBody(body, signal), { objectMode: false }),
          ...(config.tagging !== undefined && { Tagging: config.tagging }),
          ...(config.checksumAlgorithm !== undefined && { ChecksumAlgorithm: config.checksumAlgorithm }),
          ...encryptionHeaders(config.encryption),
          ...customerKey,
        },
      })
      await upload.done()
    })
  }

  async objectExists(options: KeyOptions): Promise<boolean> {
    return (await this.#head(options)) !== undefined
  }

  async objectSize(options: KeyOptions): Promise<number | undefined> {
    return (await this.#head(options))?.ContentLength
  }

  async #head({
    bucket,
    key,
    signal,
  }: KeyOptions): Promise<{ ContentLength?: number | undefined } | undefined> {
    try {
      return await this.#calling({ bucket, key, signal }, ({ client, customerKey }) =>
        client.send(new HeadObjectCommand({ Bucket: bucket, Key: key, ...customerKey }), abortBy(signal)),
      )
    } catch (error) {
      if (isObjectStoreError(error, 'NOT_FOUND')) return undefined
      throw error
    }
  }

  async getObject({ bucket, key, signal }: KeyOptions): Promise<Readable> {
    return this.#calling({ bucket, key, signal }, async ({ client, customerKey }) => {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key, ...customerKey })
      const { Body } = await client.send(command, abortBy(signal))
      if (Body instanceof Readable) return Body
      throw new Error('the SDK returned no stream')
    })
  }

  async *listCommonPrefixes(options: ListPrefixesOptions): AsyncGenerator<string> {
    for await (const page of this.#pages(options)) {
      for (const { Prefix } of page.CommonPrefixes ?? []) if (Prefix !== undefined) yield Prefix
    }
  }

  async *listObjects(options: ListOptions): AsyncGenerator<string> {
    for await (const page of this.#pages(options)) {
      for (const { Key } of page.Contents ?? []) if (Key !== undefined) yield Key
    }
  }

  async deleteObject({ bucket, key, signal }: KeyOptions): Promise<void> {
    try {
      await this.#calling({ bucket, key, signal }, ({ client }) =>
        client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }), abortBy(signal)),
      )
    } catch (error) {
      if (!isObjectStoreError(error, 'NOT_FOUND')) throw error
    }
  }

  async createSignedUrl({ bucket, key, ttlSeconds, signal }: SignedUrlOptions): Promise<string> {
    return this.#calling({ bucket, key, signal }, ({ presigner, customerKey }) => {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key, ...customerKey })
      return getSignedUrl(presigner, command, { expiresIn: ttlSeconds })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#opened?.[Symbol.dispose]()
  }

  async *#pages(options: ListOptions & { delimiter?: string }): AsyncGenerator<ListObjectsV2CommandOutput> {
    const { bucket, prefix, delimiter, signal } = options
    let continueAt: string | undefined
    do {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        ...(delimiter !== undefined && { Delimiter: delimiter }),
        ...(continueAt !== undefined && { ContinuationToken: continueAt }),
      })
      const page = await this.#calling({ bucket, signal }, ({ client }) =>
        client.send(command, abortBy(signal)),
      )
      yield page
      continueAt = page.IsTruncated === true ? page.NextContinuationToken : undefined
    } while (continueAt !== undefined)
  }

  /** Runs a call and says what its failure means. */
  async #calling<T>(
    { bucket, key, signal }: { bucket: string; key?: string; signal: AbortSignal | undefined },
    call: (opened: Opened) => Promise<T>,
  ): Promise<T> {
    const opened = this.#opened
    if (opened === undefined) throw new Error('init was not called on this store')
    signal?.throwIfAborted()
    try {
      return await call(opened)
    } catch (error) {
      if (error instanceof FencedError) throw error
      signal?.throwIfAborted()
      throw awsError(error, { endpoint: endpointName(opened.config), bucket, key })
    }
  }

  async #customerKeyOf(
    encryption: ServerSideEncryption,
    signal: AbortSignal | undefined,
  ): Promise<CustomerKey | undefined> {
    switch (encryption.type) {
      case 'customer-key-file':
        return customerKey(await readCustomerKeyFile(encryption.path), `the file ${encryption.path}`)
      case 'customer-key-secret': {
        const { name, key } = encryption.secret
        return customerKey(
          await this.#options.readSecret({ name, key }, signal),
          `key ${key} of secret ${name}`,
        )
      }
      case 'none':
      case 'kms':
      case 'algorithm':
        return undefined
    }
  }
}

function encryptionHeaders(encryption: ServerSideEncryption): Partial<PutObjectCommandInput> {
  if (encryption.type === 'kms') return { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: encryption.keyId }
  // Passed on as written: S3 servers have algorithms that the SDK's list lacks.
  if (encryption.type === 'algorithm') return { ServerSideEncryption: encryption.name as 'AES256' }
  return {}
}

async function readCustomerKeyFile(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw new ObjectStoreError('INVALID_CONFIG', {
      reason: `the file ${path} of config.customerKeyEncryptionFile cannot be read`,
      hint: "Mount the key into the server's container at that path",
      cause,
    })
  }
}

function customerKey(bytes: Uint8Array, where: string): CustomerKey {
  if (bytes.byteLength !== 32) {
    throw new ObjectStoreError('INVALID_CONFIG', {
      reason: `the customer key in ${where} has ${bytes.byteLength} bytes instead of 32`,
      hint: 'Store exactly 32 bytes, without a line break at the end',
    })
  }
  return {
    SSECustomerAlgorithm: 'AES256',
    SSECustomerKey: Buffer.from(bytes).toString('base64'),
    SSECustomerKeyMD5: createHash('md5').update(bytes).digest('base64'),
  }
}

function abortBy(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal }
}

function endpointName({ s3Url, region }: AwsConfig): string {
  return s3Url ?? (region === undefined ? 'Amazon S3' : `Amazon S3 in ${region}`)
}
