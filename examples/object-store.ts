// An object store: a bucket is a folder below the location's setting `path`, an object is a file.
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type ObjectStore, ObjectStoreError } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

function folderStore(): ObjectStore {
  let root = ''
  const at = (bucket: string, key: string) => path.join(root, bucket, key)

  async function keys(bucket: string, prefix: string): Promise<string[]> {
    const entries = await readdir(path.join(root, bucket), { recursive: true, withFileTypes: true })
    const files = entries.filter(entry => entry.isFile() && !entry.name.startsWith('.part-'))
    const found = files.map(file =>
      path.relative(path.join(root, bucket), path.join(file.parentPath, file.name)),
    )
    return found
      .filter(key => key.startsWith(prefix))
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  }

  return {
    async init({ config }) {
      if (!config.path)
        throw new ObjectStoreError('INVALID_CONFIG', { reason: 'the location has no setting "path"' })
      root = config.path
    },
    async putObject({ bucket, key, body, signal }) {
      const target = at(bucket, key)
      const part = path.join(path.dirname(target), `.part-${randomUUID()}`)
      await mkdir(path.dirname(target), { recursive: true })
      try {
        await writeFile(part, body, { signal, flush: true })
        await rename(part, target)
      } finally {
        await rm(part, { force: true })
      }
    },
    objectExists: ({ bucket, key }) =>
      stat(at(bucket, key)).then(
        found => found.isFile(),
        () => false,
      ),
    async getObject({ bucket, key }) {
      const file = await open(at(bucket, key)).catch((cause: unknown) => {
        throw new ObjectStoreError('NOT_FOUND', { reason: `${key} does not exist in ${bucket}`, cause })
      })
      return createReadStream('', { fd: file })
    },
    async *listCommonPrefixes({ bucket, prefix, delimiter }) {
      const beyond = (await keys(bucket, prefix)).filter(key => key.includes(delimiter, prefix.length))
      yield* new Set(
        beyond.map(key => key.slice(0, key.indexOf(delimiter, prefix.length) + delimiter.length)),
      )
    },
    async *listObjects({ bucket, prefix }) {
      yield* await keys(bucket, prefix)
    },
    deleteObject: ({ bucket, key }) => rm(at(bucket, key), { force: true }),
    async createSignedUrl() {
      throw new ObjectStoreError('UNKNOWN', { reason: 'a folder cannot be read over the network' })
    },
    async [Symbol.asyncDispose]() {},
  }
}

void servePlugin({ ObjectStore: { 'example.lateen.dev/folder': folderStore } })
