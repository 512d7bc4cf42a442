import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Clock, systemClock } from '../clock.ts'
import { KubeError } from '../errors.ts'
import { identityCredentials, pemFrom } from './identity-credentials.ts'
import { inClusterConfig, isInCluster } from './in-cluster.ts'
import { type KubeConfigFile, mergeKubeConfigs, parseKubeConfig } from './kube-config-file.ts'
import type { KubeConfigSource } from './kube-config-source.ts'

export interface LoadKubeConfigOptions {
  /** This file and no other. */
  path?: string | undefined
  /** Instead of the file's current context. */
  context?: string | undefined
  /** The environment, for KUBECONFIG, HOME and a pod's KUBERNETES_SERVICE_*. Without it only `path` is found. */
  env?: Readonly<Record<string, string | undefined>>
  /** A pod's service account folder, where it is not the usual one. */
  serviceAccountFolder?: string
  clock?: Clock
}

/**
 * The cluster and identity to use: `path`, else the files of KUBECONFIG, else the pod's service account, else
 * `~/.kube/config`. Throws `ConfigNotFound` saying where it looked, `ConfigInvalid` for a file that is there
 * but cannot be used.
 */
export async function loadKubeConfig(options: LoadKubeConfigOptions = {}): Promise<KubeConfigSource> {
  const { path, env = {}, clock = systemClock, serviceAccountFolder } = options
  if (path !== undefined) return fromFiles([path], options)
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter(file => file !== '')
  if (listed.length > 0) return fromFiles(listed, options)
  if (isInCluster(env)) {
    return inClusterConfig({ env, clock, ...(serviceAccountFolder && { folder: serviceAccountFolder }) })
  }
  const home = env.HOME ?? env.USERPROFILE
  return fromFiles(home === undefined ? [] : [join(home, '.kube', 'config')], options)
}

async function fromFiles(
  paths: readonly string[],
  options: LoadKubeConfigOptions,
): Promise<KubeConfigSource> {
  const files: KubeConfigFile[] = []
  for (const path of paths) {
    const text = readKubeConfig(path)
    if (text !== undefined) files.push(parseKubeConfig(text, path))
  }
  if (files.length === 0) throw notFound(paths, options)
  return sourceOf(mergeKubeConfigs(files), paths.join(delimiter), options)
}

/** A small file, read once: waiting for a thread to do it would take longer. */
function readKubeConfig(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new KubeError('ConfigInvalid', {
      message: `kubeconfig ${path} cannot be read: ${(cause as Error).message}`,
      hint: 'check that it is a file and that you may read it',
      cause,
    })
  }
}

function notFound(paths: readonly string[], { path }: LoadKubeConfigOptions): KubeError {
  const looked = paths.length === 0 ? 'no HOME is set' : `no file ${paths.join(', ')}`
  const also =
    path === undefined ? ', KUBECONFIG is not set to a file that exists, and this is not a pod' : ''
  return new KubeError('ConfigNotFound', {
    message: `no kubeconfig found: ${looked}${also}`,
    hint: 'name one with --kubeconfig FILE or KUBECONFIG=FILE',
  })
}

async function sourceOf(
  file: KubeConfigFile,
  origin: string,
  { context: wanted, clock = systemClock }: LoadKubeConfigOptions,
): Promise<KubeConfigSource> {
  const contextName = wanted ?? file.currentContext
  const refuse = (reason: string) =>
    new KubeError('ConfigInvalid', {
      message: `kubeconfig ${origin} cannot be used: ${reason}`,
      hint: `contexts in it: ${[...file.contexts.keys()].join(', ') || 'none'}`,
    })
  if (contextName === undefined) throw refuse('it has no current-context and none was named')
  const context = file.contexts.get(contextName)
  if (context === undefined) throw refuse(`it has no context "${contextName}"`)
  const cluster = file.clusters.get(context.cluster)
  if (cluster === undefined) throw refuse(`it has no cluster "${context.cluster}" with a server`)
  const userName = context.user ?? ''
  const user = file.users.get(userName)
  if (user === undefined && userName !== '') throw refuse(`it has no user "${userName}"`)
  return {
    server: cluster.server,
    namespace: context.namespace,
    proxyUrl: cluster.proxyUrl,
    origin: `context "${contextName}" of ${origin}`,
    tls: {
      ca: await pemFrom(cluster.certificateAuthorityData, cluster.certificateAuthority),
      cert: await pemFrom(user?.clientCertificateData, user?.clientCertificate),
      key: await pemFrom(user?.clientKeyData, user?.clientKey),
      serverName: cluster.tlsServerName,
      insecureSkipVerify: cluster.insecureSkipTlsVerify,
    },
    ...identityCredentials({ userName, user: user ?? {}, cluster }, clock),
  }
}
