import { builtInKind, type KubeObject, unlessNotFound } from '@lateen/kube'
import type { InstallPorts } from './install-ports.ts'

interface StoredSecret extends KubeObject {
  data?: Readonly<Record<string, string>>
}

export const SecretKind = builtInKind<StoredSecret>('Secret')

/** The Secret with the password of all repositories. */
export const passwordSecretName = 'velero-repo-credentials'

/** What the server makes the password when nobody has chosen one. Everybody knows it, so that it cannot be lost. */
const wellKnown = 'static-passw0rd'

/** Whether the Secret of this namespace may be the only place where the password of repositories is. */
export async function holdsOwnPassword(
  namespace: string,
  { client, signal }: InstallPorts,
): Promise<boolean> {
  const secret = await client
    .resource(SecretKind, namespace)
    .get(passwordSecretName, { signal })
    .catch(unlessNotFound)
  const password = secret?.data?.['repository-password']
  // Without the space around it, which is no part of it.
  return password !== undefined && Buffer.from(password, 'base64').toString().trim() !== wellKnown
}

/** Says before a namespace goes what goes with it, and how it is kept. */
export function passwordWarning(namespace: string): string {
  return `Warning: the data of volumes in buckets cannot be read without the password in Secret/${passwordSecretName}, which goes with namespace ${namespace}. Save it first: kubectl -n ${namespace} get secret ${passwordSecretName} -o yaml > ${passwordSecretName}.yaml`
}

/** Says when the namespace is gone how the password gets into the next installation. */
export function passwordReminder(namespace: string): string {
  return `The password in Secret/${passwordSecretName} is gone with the namespace. The next installation reads the data of volumes with what you have saved of it: kubectl create namespace ${namespace} && kubectl apply -f ${passwordSecretName}.yaml`
}
