import { pipeline, type Readable, Transform } from 'node:stream'
import type { Clock } from '@lateen/kube'
import { type ObjectBody, type ObjectStore, ObjectStoreError } from '@lateen/plugin'
import type { LateenMetrics } from './lateen-metrics.ts'

export interface ObserveStoreOptions {
  provider: string
  own: LateenMetrics
  clock: Clock
  /** Told of every object that was stored. */
  stored?: (object: { key: string; bytes: number }) => void
}

/** The same store, whose calls and bytes are counted and measured. */
export function observeObjectStore(store: ObjectStore, options: ObserveStoreOptions): ObjectStore {
  const { provider, own, stored } = options
  const call = measuredCalls(options)
  const size = store.objectSize?.bind(store)
  const wrote = (bytes: number) => own.storeBytes.add({ provider, direction: 'written' }, bytes)
  const read = (bytes: number) => own.storeBytes.add({ provider, direction: 'read' }, bytes)
  return {
    init: init => call('init', () => store.init(init)),
    async putObject(put) {
      let bytes = 0
      const body = countedBody(put.body, more => {
        bytes += more
        wrote(more)
      })
      await call('put', () => store.putObject({ ...put, body }))
      stored?.({ key: put.key, bytes })
    },
    objectExists: key => call('exists', () => store.objectExists(key)),
    ...(size && { objectSize: key => call('size', () => size(key)) }),
    async getObject(key) {
      return countedStream(await call('get', () => store.getObject(key)), read)
    },
    listCommonPrefixes: list => countedList(store.listCommonPrefixes(list), call),
    listObjects: list => countedList(store.listObjects(list), call),
    deleteObject: key => call('delete', () => store.deleteObject(key)),
    createSignedUrl: url => call('sign', () => store.createSignedUrl(url)),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

type Operation = 'init' | 'put' | 'exists' | 'size' | 'get' | 'list' | 'delete' | 'sign'
type Call = <T>(operation: Operation, work: () => Promise<T>) => Promise<T>

function measuredCalls({ provider, own, clock }: ObserveStoreOptions): Call {
  return async (operation, work) => {
    const startedAt = clock.now()
    const end = (result: string) => {
      own.storeRequests.add({ provider, operation, result })
      own.storeSeconds.observe({ provider, operation }, Math.max(0, clock.now() - startedAt) / 1_000)
    }
    try {
      const answer = await work()
      end('ok')
      return answer
    } catch (error) {
      end(error instanceof ObjectStoreError ? error.code : 'error')
      throw error
    }
  }
}

function countedBody(body: ObjectBody, count: (bytes: number) => void): ObjectBody {
  if (!(body instanceof Uint8Array)) return countedChunks(body, count)
  count(body.length)
  return body
}

async function* countedChunks(body: AsyncIterable<Uint8Array>, count: (bytes: number) => void) {
  for await (const chunk of body) {
    count(chunk.length)
    yield chunk
  }
}

/** Destroying what is returned destroys the source, and a source that fails fails what is returned. */
function countedStream(source: Readable, count: (bytes: number) => void): Readable {
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      count(chunk.length)
      done(null, chunk)
    },
  })
  return pipeline(source, counted, () => undefined)
}

/** A list is one call, measured until its first entry: the rest is up to who reads it. */
async function* countedList(list: AsyncIterable<string>, call: Call): AsyncGenerator<string> {
  const iterator = list[Symbol.asyncIterator]()
  try {
    const first = await call('list', () => iterator.next())
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    await iterator.return?.()
  }
}
