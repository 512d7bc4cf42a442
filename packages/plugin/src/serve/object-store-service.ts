import type { Server } from '@grpc/grpc-js'
import type { ObjectStore } from '../object-store.ts'
import { PluginError } from '../plugin-error.ts'
import { type PutObjectRequest, ObjectStore as Service } from '../proto/velero/object-store_pb.ts'
import { implementService } from './implement-service.ts'
import type { InitialisedPlugins } from './initialised-plugins.ts'

// Any size will do for the host; this one makes few messages and keeps little in memory.
const CHUNK_BYTES = 65_536
const NANOSECONDS = 1_000_000_000

/** Serves the object stores of a program. */
export function addObjectStoreService(server: Server, stores: InitialisedPlugins<ObjectStore>): void {
  implementService(server, Service, {
    async init({ plugin, config }, signal) {
      await stores.init(plugin, { config, signal })
      return {}
    },
    async putObject(requests, signal) {
      const messages = requests[Symbol.asyncIterator]()
      const first = await messages.next()
      if (first.done === true) throw noObject()
      const { plugin, bucket, key } = first.value
      const body = bytesOf(first.value, messages)
      await stores.use(plugin, store => store.putObject({ bucket, key, body, signal }))
      return {}
    },
    async objectExists({ plugin, bucket, key }, signal) {
      return { exists: await stores.use(plugin, store => store.objectExists({ bucket, key, signal })) }
    },
    async *getObject({ plugin, bucket, key }, signal) {
      const stream = await stores.use(plugin, store => store.getObject({ bucket, key, signal }))
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        for (let start = 0; start < chunk.length; start += CHUNK_BYTES) {
          yield { data: chunk.subarray(start, start + CHUNK_BYTES) }
        }
      }
    },
    async listCommonPrefixes({ plugin, bucket, prefix, delimiter }, signal) {
      const list = (store: ObjectStore) => store.listCommonPrefixes({ bucket, prefix, delimiter, signal })
      return { prefixes: await stores.use(plugin, store => Array.fromAsync(list(store))) }
    },
    async listObjects({ plugin, bucket, prefix }, signal) {
      const list = (store: ObjectStore) => store.listObjects({ bucket, prefix, signal })
      return { keys: await stores.use(plugin, store => Array.fromAsync(list(store))) }
    },
    async deleteObject({ plugin, bucket, key }, signal) {
      await stores.use(plugin, store => store.deleteObject({ bucket, key, signal }))
      return {}
    },
    async createSignedURL({ plugin, bucket, key, ttl }, signal) {
      const ttlSeconds = Number(ttl) / NANOSECONDS
      return {
        url: await stores.use(plugin, store => store.createSignedUrl({ bucket, key, ttlSeconds, signal })),
      }
    },
  })
}

async function* bytesOf(
  first: PutObjectRequest,
  rest: AsyncIterator<PutObjectRequest>,
): AsyncGenerator<Uint8Array> {
  if (first.body.length > 0) yield first.body
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    if (next.value.body.length > 0) yield next.value.body
  }
}

function noObject(): PluginError {
  return new PluginError('FAILED', {
    reason: 'the host stored an object without naming it',
    hint: 'Velero cannot store empty objects through plugins',
  })
}
