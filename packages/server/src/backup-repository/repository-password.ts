import {
  builtInKind,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  type Logger,
  unlessNotFound,
} from '@lateen/kube'
import { type ReadSecretKey, SecretError } from '../backup-store/read-secret-key.ts'

interface NewSecret extends KubeObject {
  type: string
  stringData: Record<string, string>
}

const SecretKind = builtInKind<NewSecret>('Secret')

/** The Secret that holds the password of all repositories, and its key. */
export const passwordSecret = { name: 'velero-repo-credentials', key: 'repository-password' } as const

/** What Velero makes the password when nobody has chosen one. Known to everybody: it protects nothing. */
export const defaultPassword = 'static-passw0rd'

export interface PasswordPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  log: Logger
  signal: AbortSignal
}

/** Makes sure that there is a password; without one it becomes Velero's, with a warning. Throws KubeErrors. */
export async function ensureRepositoryPassword(ports: PasswordPorts): Promise<void> {
  const { client, namespace, log, signal } = ports
  const secrets = client.resource(SecretKind, namespace)
  if ((await secrets.get(passwordSecret.name, { signal }).catch(unlessNotFound)) !== undefined) return
  await secrets
    .create(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: passwordSecret.name, namespace },
        type: 'Opaque',
        stringData: { [passwordSecret.key]: defaultPassword },
      },
      { signal },
    )
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
  log.warn(
    { secret: `${namespace}/${passwordSecret.name}` },
    "there was no password for backup repositories: it is now Velero's built-in one, which everybody knows. Set your own before the first backup of volumes",
  )
}

/** What Go takes for space, as Velero does. */
const space = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+'
const spaceAround = new RegExp(`^${space}|${space}$`, 'g')

/**
 * The password of repositories, without the space around it, which is no part of it for Velero either. Throws a `SecretError`, also for bytes that are no
 * text: Velero could not open what is made with what they would be changed to. Throws KubeErrors.
 */
export async function repositoryPassword(
  readSecretKey: ReadSecretKey,
  signal?: AbortSignal,
): Promise<string> {
  const bytes = await readSecretKey({ ...passwordSecret, field: 'every backup repository' }, signal)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      .decode(bytes)
      .replaceAll(spaceAround, '')
  } catch (cause) {
    throw new SecretError('SECRET_NOT_TEXT', {
      reason: `the password of backup repositories in the key ${passwordSecret.key} of the secret ${passwordSecret.name} is not UTF-8 text`,
      hint: 'Velero and kopia open repositories with its bytes, which this program cannot. Change their password with "kopia repository change-password" to one that is text, then the secret',
      cause,
    })
  }
}
