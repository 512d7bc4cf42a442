import { RepoError } from '../errors/repo-error.ts'
import { type ContentId, parseContentId } from '../index-format/content-id.ts'

/** Names an object: a byte string of any length, kept in one content or in many. */
export type ObjectId = string & { readonly kind: 'ObjectId' }

/** What an object id says: an index object of `indirection` levels, or a content, perhaps compressed before hashing. */
export interface ObjectIdParts {
  indirection: number
  /** Chunks of format 1 carry their compression inside the content. */
  compressed: boolean
  contentId: ContentId
}

const shape = /^(I*)(Z?)D?([g-z]?[0-9a-f]+)$/

/** The parts of an object id. Throws `INVALID_ARGUMENT` when the text is none. */
export function parseObjectId(text: string): ObjectIdParts {
  const [, levels = '', letter = '', content = ''] = shape.exec(text) ?? []
  if (content === '' || (levels !== '' && letter !== '')) throw notAnObjectId(text)
  return { indirection: levels.length, compressed: letter === 'Z', contentId: parseContentId(content) }
}

/** Mints an object id. Throws `INVALID_ARGUMENT` when the text is none. */
export function objectId(text: string): ObjectId {
  parseObjectId(text)
  return text as ObjectId
}

/** The object that one content is. */
export function objectOfContent(content: ContentId): ObjectId {
  return content as string as ObjectId
}

/** The object whose chunks the index object `index` lists. */
export function objectOfIndex(index: ObjectId): ObjectId {
  return `I${index}` as ObjectId
}

function notAnObjectId(text: string): RepoError {
  return new RepoError('INVALID_ARGUMENT', {
    message: `"${text}" is not an object id`,
    hint: 'an object id is hexadecimal, after a letter for its kind and an I for each level of index',
  })
}
