import type { Fence } from '@lateen/kube'
import type { ObjectBody, ObjectStore } from '@lateen/plugin'

/** A store that asks the fence before it writes and deletes, and while the bytes of an object are on their way. */
export function fencedObjectStore(store: ObjectStore, fence: Fence): ObjectStore {
  return {
    async init(options) {
      // Stores may make their bucket, or tidy it up.
      if (options.accessMode !== 'ReadOnly') fence.check('open a bucket for writing')
      await store.init(options)
    },
    async putObject({ body, ...options }) {
      const change = `put ${options.key}`
      fence.check(change)
      try {
        await store.putObject({ ...options, body: fencedBody(body, () => fence.check(change)) })
      } catch (error) {
        // The store only knows that the body failed.
        fence.check(change)
        throw error
      }
    },
    objectExists: options => store.objectExists(options),
    ...(store.objectSize && { objectSize: store.objectSize.bind(store) }),
    getObject: options => store.getObject(options),
    listCommonPrefixes: options => store.listCommonPrefixes(options),
    listObjects: options => store.listObjects(options),
    async deleteObject(options) {
      fence.check(`delete ${options.key}`)
      await store.deleteObject(options)
    },
    createSignedUrl: options => store.createSignedUrl(options),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

/** A body that fails half way is no object. */
function fencedBody(body: ObjectBody, check: () => void): ObjectBody {
  if (body instanceof Uint8Array) return body
  return (async function* () {
    for await (const piece of body) {
      check()
      yield piece
    }
    check()
  })()
}
