import { readFile } from 'node:fs/promises'
import type { Clock } from '../clock.ts'
import { KubeError } from '../errors.ts'
import type { KubeConfigUser } from './kube-config-file.ts'
import type { Credentials, TlsSettings } from './kube-config-source.ts'
import { type PluginIdentity, pluginCredentials } from './plugin-credentials.ts'
import { tokenFile } from './token-file.ts'

export interface CredentialSource {
  credentials(): Promise<Credentials>
  invalidate(): void
}

/** The credentials of a kubeconfig user, whatever kind it has, with its impersonation headers. */
export function identityCredentials(identity: PluginIdentity, clock: Clock): CredentialSource {
  const { user } = identity
  const impersonation = impersonationHeaders(user)
  if (user.exec !== undefined || user.authProvider !== undefined) {
    const plugin = pluginCredentials(identity)
    return {
      credentials: async () => {
        const { headers, ...certificate } = await plugin.get()
        return { headers: { ...headers, ...impersonation }, ...certificate }
      },
      invalidate: () => plugin.invalidate(),
    }
  }
  if (user.tokenFile !== undefined) return tokenFileCredentials(user.tokenFile, clock, impersonation)
  const fixed = { headers: { ...authorization(user), ...impersonation } }
  return { credentials: async () => fixed, invalidate: () => undefined }
}

/** A bearer token from a file that is renewed in place. */
export function tokenFileCredentials(
  path: string,
  clock: Clock,
  headers: Readonly<Record<string, string>> = {},
): CredentialSource {
  const token = tokenFile(path, clock)
  return {
    credentials: async () => ({ headers: { authorization: `Bearer ${await token.read()}`, ...headers } }),
    invalidate: () => token.invalidate(),
  }
}

function authorization(user: KubeConfigUser): Record<string, string> {
  if (user.token !== undefined) return { authorization: `Bearer ${user.token}` }
  if (user.username === undefined) return {}
  const pair = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')
  return { authorization: `Basic ${pair}` }
}

function impersonationHeaders(user: KubeConfigUser): Record<string, string> {
  if (user.asGroups !== undefined && user.asGroups.length > 1) {
    throw new KubeError('ConfigInvalid', {
      message: 'the kubeconfig user impersonates several groups (as-groups), which is not supported',
      hint: 'impersonate one group, or use credentials of the identity itself',
    })
  }
  return {
    ...(user.as !== undefined && { 'impersonate-user': user.as }),
    ...(user.asUid !== undefined && { 'impersonate-uid': user.asUid }),
    ...(user.asGroups?.[0] !== undefined && { 'impersonate-group': user.asGroups[0] }),
  }
}

/** PEM bytes given inline as base64, or in a file. Throws `ConfigInvalid` naming the file. */
export async function pemFrom(
  data: string | undefined,
  path: string | undefined,
): Promise<TlsSettings['ca']> {
  if (data !== undefined) return Buffer.from(data, 'base64')
  if (path === undefined) return undefined
  try {
    return await readFile(path)
  } catch (cause) {
    throw new KubeError('ConfigInvalid', {
      message: `cannot read the certificate file ${path} that the kubeconfig names`,
      hint: 'restore the file, or use a kubeconfig with the certificates inside (kubectl config view --flatten)',
      cause,
    })
  }
}
