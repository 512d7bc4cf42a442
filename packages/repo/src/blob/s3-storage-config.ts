import { RepoError } from '../errors/repo-error.ts'
import type { BlobId } from './storage.ts'

/** The storage class for blobs whose id starts with a prefix. */
export interface StorageClassRule {
  readonly prefix: string
  readonly storageClass: string
}

/** Reads a `.storageconfig`. Throws `CORRUPT` when it is not one; `place` is where it was found. */
export function parseStorageConfig(text: string, place: string): StorageClassRule[] {
  try {
    const parsed: unknown = JSON.parse(text)
    const { blobOptions = [] } = parsed as { blobOptions?: unknown }
    return (blobOptions as unknown[]).map(ruleIn)
  } catch (cause) {
    throw new RepoError('CORRUPT', {
      message: `The storage configuration ${place}.storageconfig cannot be understood`,
      hint: 'It reads {"blobOptions":[{"prefix":"p","storageClass":"STANDARD_IA"}]}; correct or delete it.',
      cause,
    })
  }
}

function ruleIn(value: unknown): StorageClassRule {
  const { prefix = '', storageClass = '' } = value as Record<string, unknown>
  if (typeof prefix !== 'string' || typeof storageClass !== 'string')
    throw new Error('a rule is not made of strings')
  return { prefix, storageClass }
}

/** The class of the first rule that fits; undefined for the bucket's own. */
export function storageClassFor(rules: readonly StorageClassRule[], id: BlobId): string | undefined {
  return rules.find(({ prefix }) => id.startsWith(prefix))?.storageClass || undefined
}
