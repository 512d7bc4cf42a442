import { appProtocolVersion, kindsBeyondVelero, knownKindsVariable, magicCookie } from '@lateen/plugin'

/** What programs are told about their host when they are started. */
export interface LaunchSettings {
  /** Of the server, and inherited whole: plugins find credentials and the cluster by it. */
  env: Readonly<Record<string, string | undefined>>
  /** Of the server's objects. */
  namespace: string
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'fatal'
  features: readonly string[]
}

/** Variables that would bring a program to speak in a way that this host does not understand. */
const withheld = ['PLUGIN_CLIENT_CERT', 'PLUGIN_MULTIPLEX_GRPC', 'PLUGIN_UNIX_SOCKET_GROUP']

/** The environment of a program whose sockets are in `socketFolder`. */
export function programEnvironment(
  { env, namespace }: LaunchSettings,
  socketFolder: string,
): Record<string, string> {
  const inherited = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !withheld.includes(entry[0]),
  )
  return {
    ...Object.fromEntries(inherited),
    [magicCookie.variable]: magicCookie.value,
    [knownKindsVariable]: kindsBeyondVelero.join(','),
    PLUGIN_PROTOCOL_VERSIONS: String(appProtocolVersion),
    PLUGIN_MIN_PORT: '10000',
    PLUGIN_MAX_PORT: '25000',
    PLUGIN_UNIX_SOCKET_DIR: socketFolder,
    VELERO_NAMESPACE: namespace,
  }
}

/** The arguments of a program. Programs in Go end at a flag whose value they do not know, so there are no others than these. */
export function programArguments({ logLevel, features }: LaunchSettings): string[] {
  const level = logLevel === 'warn' ? 'warning' : logLevel
  return [`--log-level=${level}`, ...(features.length > 0 ? [`--features=${features.join(',')}`] : [])]
}
