import type { RequestOptions } from 'node:https'
import { KubeError } from '../errors.ts'
import type { KubeConfigCluster, KubeConfigUser } from './kube-config-file.ts'
import type { Credentials } from './kube-config-source.ts'

/** Credentials that a program or an identity provider hands out. */
export interface PluginCredentials {
  get(): Promise<Credentials>
  invalidate(): void
}

export interface PluginIdentity {
  userName: string
  user: KubeConfigUser
  cluster: KubeConfigCluster
}

/**
 * Exec plugins, OIDC and the older auth providers, through `@kubernetes/client-node`. That library takes half a
 * second and 80 MiB to load, so only users that need it do. It keeps what it was given until that expires.
 */
export function pluginCredentials(identity: PluginIdentity): PluginCredentials {
  let config: Promise<{ applyToHTTPSOptions(options: RequestOptions): Promise<void> }> | undefined
  return {
    async get() {
      config ??= loadAuthenticators(identity)
      try {
        const options: RequestOptions = {}
        await (await config).applyToHTTPSOptions(options)
        return credentialsOf(options)
      } catch (cause) {
        config = undefined
        throw failed(identity, cause)
      }
    },
    invalidate() {
      config = undefined
    },
  }
}

async function loadAuthenticators({ userName, user, cluster }: PluginIdentity) {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'cluster', server: cluster.server, skipTLSVerify: true },
    {
      name: userName,
      ...(user.exec && { exec: user.exec }),
      ...(user.authProvider && { authProvider: user.authProvider }),
    },
  )
  return config
}

function credentialsOf(options: RequestOptions): Credentials {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers ?? {}))
    headers[name.toLowerCase()] = String(value)
  const pem = (value: unknown) => (typeof value === 'string' || Buffer.isBuffer(value) ? value : undefined)
  return { headers, cert: pem(options.cert), key: pem(options.key) }
}

function failed({ userName, user }: PluginIdentity, cause: unknown): KubeError {
  const exec = user.exec as { command?: string; installHint?: string } | undefined
  const said = cause instanceof Error ? cause.message.trim() : String(cause)
  return new KubeError('CredentialFailed', {
    message:
      exec === undefined
        ? `cannot get credentials for kubeconfig user "${userName}": ${said}`
        : `the credential plugin "${exec.command}" of kubeconfig user "${userName}" failed: ${said}`,
    hint: exec?.installHint ?? 'run the same command in a terminal, log in again, then repeat',
    cause,
  })
}
