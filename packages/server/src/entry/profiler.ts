import { BlockList, isIP } from 'node:net'
import { type Clock, type Logger, startHttpServer } from '@lateen/kube'
import { profilerRoutes } from '../profiling/profiler-routes.ts'
import { parseListenAddress } from './server-options.ts'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

/** Whether nobody outside of this machine, or of this pod, reaches a host. */
export function isLoopback(host: string): boolean {
  const family = isIP(host)
  if (family === 0) return host === 'localhost'
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

/**
 * Serves heap snapshots and CPU profiles at an address, for this machine only unless the address names another host; nothing for an
 * empty one. Disposing cuts requests. Throws `ServerOptionError` for an address that is none, HTTP_LISTEN_FAILED when it is taken.
 */
export async function startProfiler(
  address: string,
  { log, clock }: { log: Logger; clock: Clock },
): Promise<AsyncDisposable> {
  const place = parseListenAddress(address, 'profiler address')
  if (place === undefined) return { [Symbol.asyncDispose]: async () => undefined }
  const { host = '127.0.0.1', port } = place
  const server = await startHttpServer({ host, port }, profilerRoutes(clock), log)
  log.info({ host, port: server.port }, 'serving profiles')
  if (!isLoopback(host)) {
    log.warn({ host }, 'heap snapshots hold secrets, and others than this machine can fetch them')
  }
  return {
    async [Symbol.asyncDispose]() {
      const closed = server[Symbol.asyncDispose]()
      server.cut()
      await closed
    },
  }
}
