import { RepoError } from '../../errors/repo-error.ts'
import type { ObjectReader as StoredObject } from '../../object/object-reader.ts'
import type { ObjectReader } from '../backup-repo.ts'

/** A position over a stored object. */
export function seekableObjectReader(object: StoredObject, signal?: AbortSignal): ObjectReader {
  let position = 0
  return {
    length: object.length,
    async read(length) {
      const bytes = await object.read(Math.min(position, object.length), length, signal)
      position += bytes.length
      return bytes
    },
    seek(offset, origin = 'start') {
      const base = { start: 0, current: position, end: object.length }[origin]
      const target = base + offset
      if (!Number.isSafeInteger(target) || target < 0) {
        throw new RepoError('INVALID_RANGE', {
          message: `Object ${object.id} has no position ${target}`,
          hint: 'positions are whole numbers from 0',
          objectId: object.id,
        })
      }
      position = target
      return position
    },
    async *stream() {
      for await (const bytes of object.stream({ offset: Math.min(position, object.length), signal })) {
        position += bytes.length
        yield bytes
      }
    },
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
}
