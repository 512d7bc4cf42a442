import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { type Clock, systemClock } from '../clock.ts'
import { KubeError } from '../errors.ts'
import { tokenFileCredentials } from './identity-credentials.ts'
import type { KubeConfigSource } from './kube-config-source.ts'

/** Where the kubelet mounts a pod's service account. */
export const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

export interface InClusterOptions {
  env: Readonly<Record<string, string | undefined>>
  /** Folder with `token`, `ca.crt` and `namespace`. */
  folder?: string
  clock?: Clock
}

/** Whether the environment is that of a pod with an API server to talk to. */
export function isInCluster(env: InClusterOptions['env']): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT)
}

/** The pod's own service account. The token is read again as it rotates. Throws `ConfigNotFound` outside pods. */
export async function inClusterConfig(options: InClusterOptions): Promise<KubeConfigSource> {
  const { env, folder = serviceAccountFolder, clock = systemClock } = options
  const host = env.KUBERNETES_SERVICE_HOST
  const port = env.KUBERNETES_SERVICE_PORT
  if (host === undefined || port === undefined) {
    throw new KubeError('ConfigNotFound', {
      message:
        'this process does not run in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set',
      hint: 'name a kubeconfig with --kubeconfig or KUBECONFIG',
    })
  }
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: (await readIfThere(join(folder, 'namespace')))?.trim(),
    tls: { ca: await readIfThere(join(folder, 'ca.crt')) },
    origin: `the service account in ${folder}`,
    ...tokenFileCredentials(join(folder, 'token'), clock),
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined
  }
}
