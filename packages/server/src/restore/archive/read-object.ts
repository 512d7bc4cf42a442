import type { ActionItem } from '@lateen/plugin'
import { jsonDepth } from '../../backup-store/json-depth.ts'
import { parseItem } from '../../item/item-json.ts'
import { itemPaths } from '../../item/item-paths.ts'
import type { ArchivedItem, BackupArchive } from './backup-archive.ts'

/** An object of an archive that cannot be used. The others can. */
export class ArchivedObjectError extends Error {
  override readonly name = 'ArchivedObjectError'
  readonly code = 'ARCHIVED_OBJECT_INVALID'
  readonly hint = 'the object is damaged in the archive: take it from another backup'
  /** The entry in the archive. */
  readonly path: string

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`error decoding ${JSON.stringify(path)}: ${reason}`, options)
    this.path = path
  }
}

/** The deepest that objects of Kubernetes are nested is some 30; schemas of CRDs go further. */
const maxDepth = 1000

/**
 * The object in an archive, large integers included. Throws ArchivedObjectError when it is no JSON, no Kubernetes object, or not the
 * one that its path says; ScratchError.
 */
export async function readObject(archive: BackupArchive, item: ArchivedItem): Promise<ActionItem> {
  const bytes = await archive.load(item)
  const path = pathOf(item)
  const object = parsed(bytes, path)
  const problem = problemOf(object, item)
  if (problem !== undefined) throw new ArchivedObjectError(path, problem)
  return object as ActionItem
}

function pathOf({ groupResource, namespace, name, version }: ArchivedItem): string {
  const [path = ''] = itemPaths({ groupResource, namespace, name, version, preferred: version === '' })
  return path
}

function parsed(bytes: Uint8Array, path: string): unknown {
  if (jsonDepth(bytes) > maxDepth)
    throw new ArchivedObjectError(path, `it is nested more than ${maxDepth} deep`)
  try {
    return parseItem(bytes)
  } catch (cause) {
    throw new ArchivedObjectError(path, (cause as Error).message, { cause })
  }
}

interface Claimed {
  apiVersion?: unknown
  kind?: unknown
  metadata?: unknown
}

interface ClaimedName {
  name?: unknown
  namespace?: unknown
}

function problemOf(value: unknown, item: ArchivedItem): string | undefined {
  if (!isMapping(value)) return 'it is no object'
  const { apiVersion, kind, metadata }: Claimed = value
  if (typeof apiVersion !== 'string' || apiVersion === '') return "Object 'apiVersion' is missing"
  if (typeof kind !== 'string' || kind === '') return "Object 'Kind' is missing"
  if (!isMapping(metadata)) return 'metadata not found'
  const { name, namespace = '' }: ClaimedName = metadata
  if (name !== item.name) return `it is called ${JSON.stringify(name)}`
  if (namespace !== item.namespace) return `it is of the namespace ${JSON.stringify(namespace)}`
  return undefined
}

function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
