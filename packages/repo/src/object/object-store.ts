import type { ContentStore, ContentWriter } from '../content/content-store.ts'
import type { ObjectId } from './object-id.ts'
import { type ObjectReader, openObject } from './object-reader.ts'
import {
  concatenate,
  createObjectWriter,
  type ObjectWriter,
  type ObjectWriterOptions,
  writeObject,
} from './object-writer.ts'

/** How an object is written where the repository knows the splitter. */
export type NewObjectOptions = Partial<ObjectWriterOptions>

/** The objects of a repository, for reading. */
export interface ObjectStore {
  /** Throws as `openObject` does. */
  open(id: ObjectId, signal?: AbortSignal): Promise<ObjectReader>
}

/** The objects of a repository, for reading and writing. */
export interface ObjectStoreWriter extends ObjectStore {
  create(options?: NewObjectOptions): ObjectWriter
  /** An object from bytes in memory. */
  put(bytes: Uint8Array, options?: NewObjectOptions): Promise<ObjectId>
  /** One object of several, one after the other, without reading their data. */
  concatenate(ids: readonly ObjectId[], options?: NewObjectOptions): Promise<ObjectId>
}

/** The objects in these contents. */
export function objectStore(contents: ContentStore): ObjectStore {
  return { open: (id, signal) => openObject(contents, id, signal) }
}

/** The objects in these contents; `splitter` is the repository's. */
export function objectStoreWriter(contents: ContentWriter, splitter: string): ObjectStoreWriter {
  const withSplitter = (options: NewObjectOptions = {}) => ({ splitter, indexSplitter: splitter, ...options })
  return {
    ...objectStore(contents),
    create: options => createObjectWriter(contents, withSplitter(options)),
    put: (bytes, options) => writeObject(contents, bytes, withSplitter(options)),
    concatenate: (ids, options) => concatenate(contents, ids, withSplitter(options)),
  }
}
