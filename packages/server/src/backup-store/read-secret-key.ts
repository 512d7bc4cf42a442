import { builtInKind, isForbidden, isNotFound, type KubeClient, type KubeObject } from '@lateen/kube'

interface Secret extends KubeObject {
  /** Base64 by key. */
  data?: Record<string, string>
}

const SecretKind = builtInKind<Secret>('Secret')

/** A secret that something refers to, or its key, is missing or may not be read. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
  readonly code: 'SECRET_NOT_FOUND' | 'SECRET_KEY_NOT_FOUND' | 'SECRET_FORBIDDEN' | 'SECRET_NOT_TEXT'
  readonly hint: string

  constructor(code: SecretError['code'], details: { reason: string; hint: string; cause?: unknown }) {
    const { cause } = details
    super(`${details.reason}. ${details.hint}`, cause === undefined ? {} : { cause })
    this.code = code
    this.hint = details.hint
  }
}

export interface SecretReference {
  name: string
  key: string
  /** The field that refers to it, such as `spec.credential`. */
  field: string
}

/** Reads one key of a secret. */
export type ReadSecretKey = (reference: SecretReference, signal?: AbortSignal) => Promise<Uint8Array>

/**
 * A reader of the secrets in one namespace. It rejects with a `SecretError` that names the field, the secret and the
 * key, or with the KubeError when the API server does not answer.
 */
export function secretReader(client: KubeClient, namespace: string): ReadSecretKey {
  const secrets = client.resource(SecretKind, namespace)
  return async ({ name, key, field }, signal) => {
    const secret = await secrets.get(name, { ...(signal && { signal }) }).catch((cause: unknown) => {
      throw readingError(cause, { field, where: `${namespace}/${name}` })
    })
    const value = secret.data?.[key]
    if (value !== undefined) return Buffer.from(value, 'base64')
    const present = Object.keys(secret.data ?? {}).map(name => JSON.stringify(name))
    throw new SecretError('SECRET_KEY_NOT_FOUND', {
      reason: `the secret ${namespace}/${name} has no key ${JSON.stringify(key)}, to which ${field} refers`,
      hint: present.length === 0 ? 'It has no keys at all; add it' : `It has ${present.join(', ')}`,
    })
  }
}

function readingError(cause: unknown, { field, where }: { field: string; where: string }): unknown {
  if (isNotFound(cause)) {
    return new SecretError('SECRET_NOT_FOUND', {
      reason: `the secret ${where}, to which ${field} refers, does not exist`,
      hint: `Create it or correct ${field}`,
      cause,
    })
  }
  if (isForbidden(cause)) {
    return new SecretError('SECRET_FORBIDDEN', {
      reason: `the server may not read the secret ${where}, to which ${field} refers`,
      hint: "Allow the server's service account to get secrets in its namespace",
      cause,
    })
  }
  return cause
}
