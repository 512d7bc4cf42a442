import { type Dispatcher, Pool, ProxyAgent, Socks5ProxyAgent } from 'undici'
import type { Credentials, KubeConfigSource } from '../auth/kube-config-source.ts'
import type { Fence } from '../fence.ts'
import { fencedDispatcher } from './fenced-dispatcher.ts'

/**
 * `calls` shares a bounded number of connections; `streams` gives each watch, log or list page that stays open
 * a connection of its own, so that no number of watches can keep a call from being sent.
 */
export type Lane = 'calls' | 'streams'

export type ConnectionPools = Record<Lane, Dispatcher>

export interface PoolOptions {
  /** Connections for calls; more concurrent ones wait their turn. */
  connections: number
  connectTimeoutMs: number
  /** Asked about every change, right before its first byte. */
  fence: Fence
}

/** Shorter than the API server's 90 s, so that it is always we who close an idle connection. */
const idleConnectionMs = 30_000
/** Below the idle limits of common load balancers. */
const tcpKeepAliveMs = 20_000

/** Connections to one server with one client certificate, through the proxy if there is one. */
export function openPools(
  config: KubeConfigSource,
  certificate: Pick<Credentials, 'cert' | 'key'>,
  options: PoolOptions,
): ConnectionPools {
  const open = (connections: number) =>
    fencedDispatcher(openPool(config, certificate, { ...options, connections }), options.fence)
  return { calls: open(options.connections), streams: open(Number.POSITIVE_INFINITY) }
}

function openPool(
  config: KubeConfigSource,
  certificate: Pick<Credentials, 'cert' | 'key'>,
  { connections, connectTimeoutMs }: PoolOptions,
): Dispatcher {
  const tls = tlsOptions(config, certificate)
  const connect = {
    ...tls,
    timeout: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveMs,
  }
  const common = {
    connections: Number.isFinite(connections) ? connections : null,
    // HTTP/2 was measured to be no faster for many small calls and slower for large lists, and exec needs a
    // connection that can be upgraded.
    allowH2: false,
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: idleConnectionMs,
  }
  const { proxyUrl } = config
  if (proxyUrl === undefined) return new Pool(new URL(config.server).origin, { ...common, connect })
  if (proxyUrl.startsWith('socks')) {
    return new Socks5ProxyAgent(proxyUrl, { ...common, requestTls: connect })
  }
  return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: connect })
}

function tlsOptions({ tls }: KubeConfigSource, certificate: Pick<Credentials, 'cert' | 'key'>) {
  const cert = certificate.cert ?? tls.cert
  const key = certificate.key ?? tls.key
  return {
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(tls.serverName !== undefined && { servername: tls.serverName }),
    ...(tls.insecureSkipVerify === true && { rejectUnauthorized: false }),
  }
}
