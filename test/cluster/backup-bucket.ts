import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { Backup } from '@lateen/api'
import type { KubeObject } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'

const run = promisify(execFile)

interface ResultList {
  velero?: string[]
  cluster?: string[]
  namespaces?: Record<string, string[]>
}

/** `-results.gz`. */
export interface Results {
  errors: ResultList
  warnings: ResultList
}

/** The objects in an archive, by their paths in it. */
export type Unpacked = ReadonlyMap<string, KubeObject>

/** What lies in the bucket below a prefix, as somebody sees it who knows S3, gzip and tar, and not our code. */
export class BackupBucket implements Disposable {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #prefix: string

  constructor({ s3 }: Pick<Cluster, 's3'>, prefix: string) {
    const { endpoint, region, accessKeyId, secretAccessKey } = s3
    const credentials = { accessKeyId, secretAccessKey }
    this.#client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
    this.#bucket = s3.bucket
    this.#prefix = `${prefix}/`
  }

  /** Names of all files, without the prefix. */
  async keys(): Promise<string[]> {
    return [...(await this.contents()).keys()]
  }

  /** A digest of each file, by its name without the prefix. */
  async contents(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    let next: string | undefined
    do {
      const page: ListObjectsV2CommandOutput = await this.#client.send(
        new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#prefix, ContinuationToken: next }),
      )
      for (const { Key = '', ETag = '' } of page.Contents ?? [])
        found.set(Key.slice(this.#prefix.length), ETag)
      next = page.NextContinuationToken
    } while (next !== undefined)
    return found
  }

  /** Files of the backups, by the backup's name. */
  async files(): Promise<ReadonlyMap<string, readonly string[]>> {
    const below = (await this.keys()).filter(key => key.startsWith('backups/'))
    const byBackup = Map.groupBy(below, key => key.split('/')[1] ?? '')
    return new Map([...byBackup].map(([name, keys]) => [name, keys.map(key => path.basename(key))]))
  }

  async read(key: string): Promise<Buffer> {
    const { Body } = await this.#client.send(
      new GetObjectCommand({ Bucket: this.#bucket, Key: `${this.#prefix}${key}` }),
    )
    return Buffer.from((await Body?.transformToByteArray()) ?? [])
  }

  async write(key: string, body: Buffer): Promise<void> {
    await this.#client.send(
      new PutObjectCommand({ Bucket: this.#bucket, Key: `${this.#prefix}${key}`, Body: body }),
    )
  }

  /** Deletes every file whose name begins like this. */
  async delete(prefix: string): Promise<void> {
    for (const key of await this.keys()) {
      if (!key.startsWith(prefix)) continue
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: `${this.#prefix}${key}` }))
    }
  }

  /** A file such as `-results.gz` of a backup. */
  async readJson(backup: string, file: string): Promise<unknown> {
    return JSON.parse(gunzipSync(await this.read(`backups/${backup}/${backup}${file}`)).toString())
  }

  /** What a restore says it did not do, and warns of. */
  async restoreResults(restore: string): Promise<Results> {
    return JSON.parse(
      gunzipSync(await this.read(`restores/${restore}/restore-${restore}-results.gz`)).toString(),
    )
  }

  async metadata(backup: string): Promise<Backup> {
    return JSON.parse((await this.read(`backups/${backup}/velero-backup.json`)).toString())
  }

  /** Paths in a backup's archive, in order. */
  async paths(backup: string): Promise<string[]> {
    return withArchive(await this.#archive(backup), async file => {
      const { stdout } = await run('tar', ['-tzf', file, '--quoting-style=literal'], { maxBuffer: 1 << 28 })
      return stdout.trimEnd().split('\n')
    })
  }

  /** Everything in a backup's archive but `metadata/version`. */
  async unpack(backup: string): Promise<Unpacked> {
    return withArchive(await this.#archive(backup), async file => {
      const folder = path.dirname(file)
      await run('tar', ['-xzf', file, '-C', folder])
      const found = new Map<string, KubeObject>()
      for (const name of await readdir(folder, { recursive: true })) {
        if (!name.startsWith('resources/') || !name.endsWith('.json')) continue
        found.set(name, JSON.parse(await readFile(path.join(folder, name), 'utf8')))
      }
      return found
    })
  }

  #archive(backup: string): Promise<Buffer> {
    return this.read(`backups/${backup}/${backup}.tar.gz`)
  }

  [Symbol.dispose](): void {
    this.#client.destroy()
  }
}

async function withArchive<T>(bytes: Buffer, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-unpacked-'))
  try {
    const file = path.join(folder, 'archive')
    await writeFile(file, bytes)
    return await use(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}
