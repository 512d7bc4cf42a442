import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import type { Cluster } from '../../tools/cluster/cluster.ts'

/** Which backup is copied how often, and where to. */
export interface Filling {
  /** The prefix below which the original is. */
  from: string
  backup: string
  to: readonly string[]
  count: number
}

/** Copies that are under way at the same time. */
const COPIES_AT_ONCE = 16

/** The name of the copy with this number. */
export function copyName(number: number): string {
  return `copy-${String(number).padStart(5, '0')}`
}

export function isCopy(name: string): boolean {
  return name.startsWith('copy-')
}

/** Fills prefixes of the bucket with copies of one backup, each under a name of its own, as if each had been taken. */
export async function fillBucket(
  { s3 }: Pick<Cluster, 's3'>,
  { from, backup, to, count }: Filling,
): Promise<void> {
  const { endpoint, region, accessKeyId, secretAccessKey, bucket: Bucket } = s3
  const credentials = { accessKeyId, secretAccessKey }
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  try {
    const folder = `${from}/backups/${backup}/`
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: folder }))
    const files = await Promise.all(
      Contents.map(async ({ Key = '' }) => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }))
        return {
          name: Key.slice(folder.length),
          body: Buffer.from((await Body?.transformToByteArray()) ?? []),
        }
      }),
    )
    const copies = to.flatMap(prefix => Array.from({ length: count }, (_, index) => ({ prefix, index })))
    const copyOn = async () => {
      for (let next = copies.pop(); next !== undefined; next = copies.pop()) {
        const name = copyName(next.index)
        for (const file of files) {
          const Key = `${next.prefix}/backups/${name}/${file.name.replace(backup, name)}`
          await client.send(new PutObjectCommand({ Bucket, Key, Body: renamed(file, name) }))
        }
      }
    }
    await Promise.all(Array.from({ length: COPIES_AT_ONCE }, copyOn))
  } finally {
    client.destroy()
  }
}

function renamed({ name, body }: { name: string; body: Buffer }, copy: string): Buffer {
  if (name !== 'velero-backup.json') return body
  const stored = JSON.parse(body.toString())
  return Buffer.from(JSON.stringify({ ...stored, metadata: { ...stored.metadata, name: copy } }))
}
