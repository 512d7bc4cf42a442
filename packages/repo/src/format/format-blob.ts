import { RepoError } from '../errors/repo-error.ts'
import { asJsonObject, encodeGoJson, type JsonObject, parseGoJson } from '../go-json/go-json.ts'

/** `kopia.repository` as it lies in the storage: clear JSON around a sealed block. */
export interface FormatBlob {
  uniqueId: Uint8Array
  keyAlgorithm: string
  /** The sealed format block. */
  block: Uint8Array
}

const blockEncryption = 'AES256_GCM'

/** Writes `kopia.repository`. */
export function serializeFormatBlob({ uniqueId, keyAlgorithm, block }: FormatBlob): Uint8Array {
  const json = {
    tool: 'https://github.com/kopia/kopia',
    buildVersion: 'lateen',
    buildInfo: '',
    uniqueID: uniqueId,
    keyAlgo: keyAlgorithm,
    encryption: blockEncryption,
    encryptedBlockFormat: block,
  }
  return new TextEncoder().encode(encodeGoJson(json, { indent: 2, newline: true }))
}

/** Reads `kopia.repository`. Throws `NOT_A_REPOSITORY` when it is none, `UNSUPPORTED_FORMAT` for an unknown cipher. */
export function parseFormatBlob(bytes: Uint8Array): FormatBlob {
  const json = parseRoot(bytes)
  if (json.encryption !== blockEncryption) {
    throw new RepoError('UNSUPPORTED_FORMAT', {
      message: `kopia.repository is sealed by ${JSON.stringify(String(json.encryption))}, which is not supported`,
      hint: 'Use a newer version of this program.',
    })
  }
  return {
    uniqueId: base64(json, 'uniqueID'),
    keyAlgorithm: String(json.keyAlgo ?? ''),
    block: base64(json, 'encryptedBlockFormat'),
  }
}

function parseRoot(bytes: Uint8Array): JsonObject {
  try {
    return asJsonObject(parseGoJson(Buffer.from(bytes).toString('utf8')), 'kopia.repository')
  } catch (cause) {
    throw notARepository('is not the JSON object that it must be', cause)
  }
}

function base64(json: JsonObject, key: string): Uint8Array {
  const value = json[key]
  if (typeof value !== 'string' || value === '') throw notARepository(`has no ${key}`)
  return new Uint8Array(Buffer.from(value, 'base64'))
}

function notARepository(reason: string, cause?: unknown): RepoError {
  return new RepoError('NOT_A_REPOSITORY', {
    message: `The blob kopia.repository ${reason}`,
    hint: 'The location holds something else than a repository, or its format blob is damaged.',
    blobId: 'kopia.repository',
    cause,
  })
}
