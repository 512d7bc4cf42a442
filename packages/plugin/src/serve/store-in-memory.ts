import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type {
  InitOptions,
  KeyOptions,
  ListOptions,
  ListPrefixesOptions,
  ObjectStore,
  PutOptions,
  SignedUrlOptions,
} from '../object-store.ts'
import { ObjectStoreError } from '../object-store-error.ts'

const objects = new Map<string, Buffer>()

/** A store for tests of what is between a store and its user. Its objects belong to the process. */
export class StoreInMemory implements ObjectStore {
  async init({ config }: InitOptions): Promise<void> {
    if (config.fail !== undefined) throw new ObjectStoreError('INVALID_CONFIG', { reason: 'fail is set' })
  }

  async putObject({ key, body }: PutOptions): Promise<void> {
    if (key === 'full') throw new ObjectStoreError('FULL', { reason: 'there is no room for full' })
    objects.set(key, body instanceof Uint8Array ? Buffer.from(body) : await buffer(body))
  }

  async objectExists({ key }: KeyOptions): Promise<boolean> {
    return objects.has(key)
  }

  async getObject({ key }: KeyOptions): Promise<Readable> {
    const found = objects.get(key)
    if (found === undefined) {
      throw new ObjectStoreError('NOT_FOUND', { reason: `${key} is away`, hint: 'Look elsewhere' })
    }
    return Readable.from([found])
  }

  async *listCommonPrefixes({ prefix, delimiter }: ListPrefixesOptions): AsyncGenerator<string> {
    const keys = [...objects.keys()].filter(
      key => key.startsWith(prefix) && key.indexOf(delimiter, prefix.length) > 0,
    )
    yield* new Set(keys.map(key => key.slice(0, key.indexOf(delimiter, prefix.length) + delimiter.length)))
  }

  async *listObjects({ prefix }: ListOptions): AsyncGenerator<string> {
    yield* [...objects.keys()].filter(key => key.startsWith(prefix))
  }

  async deleteObject({ key }: KeyOptions): Promise<void> {
    objects.delete(key)
  }

  async createSignedUrl({ bucket, key, ttlSeconds }: SignedUrlOptions): Promise<string> {
    return `memory:${bucket}/${key}?${ttlSeconds}`
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
