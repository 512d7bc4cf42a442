import {
  builtInKind,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  type Logger,
  unlessNotFound,
} from '@lateen/kube'
import type { ReadSecretKey } from '../backup-store/read-secret-key.ts'

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

/** The password of repositories, without the space around it, which is no part of it for Velero either. Throws a `SecretError` or KubeErrors. */
export async function repositoryPassword(
  readSecretKey: ReadSecretKey,
  signal?: AbortSignal,
): Promise<string> {
  const bytes = await readSecretKey({ ...passwordSecret, field: 'every backup repository' }, signal)
  return Buffer.from(bytes).toString().trim()
}
