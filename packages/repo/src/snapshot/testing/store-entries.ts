import type { ObjectId } from '../../object/object-id.ts'
import { type DirectoryEntry, serializeDirectory } from '../directory.ts'

/** What stores the objects of hand-made trees. */
export interface EntryStore {
  put(bytes: Uint8Array, options?: { prefix?: string }): Promise<ObjectId>
}

type Attributes = Partial<Omit<DirectoryEntry, 'name' | 'obj'>>

/** Stores a file and returns its entry. */
export async function storeFile(
  store: EntryStore,
  name: string,
  content: { data: string | Uint8Array } & Attributes,
): Promise<DirectoryEntry> {
  const { data, ...attributes } = content
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  return { ...defaults, name, type: 'f', size: bytes.length, obj: await store.put(bytes), ...attributes }
}

/** Stores a symlink and returns its entry. */
export async function storeSymlink(
  store: EntryStore,
  name: string,
  content: { target: string | Uint8Array } & Attributes,
): Promise<DirectoryEntry> {
  const { target, ...attributes } = content
  return { ...(await storeFile(store, name, { data: target, mode: 0o777, ...attributes })), type: 's' }
}

/** Stores a directory with exactly these entries, in this order, however impossible they are. */
export async function storeDirectory(
  store: EntryStore,
  name: string,
  content: { entries: DirectoryEntry[] } & Attributes,
): Promise<DirectoryEntry> {
  const { entries, ...attributes } = content
  const obj = await store.put(serializeDirectory({ entries }), { prefix: 'k' })
  return { ...defaults, name, type: 'd', mode: 0o755, obj, ...attributes }
}

const defaults = { mode: 0o644, size: 0, mtime: 1_700_000_000_123_456_789n, uid: 0, gid: 0 }
