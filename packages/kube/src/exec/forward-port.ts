import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { PodRef, PortForward, PortForwardOptions } from '../client.ts'
import { KubeError } from '../errors.ts'
import type { Api } from '../http/api.ts'
import { queryString } from '../http/api-path.ts'
import { describeSubject } from '../http/kube-request.ts'
import { openChannelSocket } from './channel-socket.ts'

const channel = { data: 0, error: 1 } as const
/** The first message on each channel is the port's number, for clients that forward several. */
const portBytes = 2

/**
 * Listens on loopback; every connection made there gets a stream of its own to the pod's port. A connection that
 * cannot be forwarded is closed and the reason logged. The signal, like disposing, closes everything.
 */
export async function forwardPort(api: Api, pod: PodRef, options: PortForwardOptions): Promise<PortForward> {
  const { signal, localPort = 0 } = options
  signal?.throwIfAborted()
  const scope = new AbortController()
  const stop = () => scope.abort()
  signal?.addEventListener('abort', stop, { once: true })
  const server = createServer({ allowHalfOpen: true }, socket => {
    carry(api, socket, { pod, port: options.port, signal: scope.signal }).catch(error => {
      api.retry.log.warn({ pod: pod.name, namespace: pod.namespace, error }, 'A forwarded connection failed')
    })
  })
  server.listen(localPort, '127.0.0.1')
  await listening(server, pod)
  if (scope.signal.aborted) server.close()
  else scope.signal.addEventListener('abort', () => server.close(), { once: true })
  return {
    localPort: (server.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      signal?.removeEventListener('abort', stop)
      const closed = server.listening ? once(server, 'close') : undefined
      scope.abort()
      await closed
    },
  }
}

async function listening(server: ReturnType<typeof createServer>, pod: PodRef): Promise<void> {
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new KubeError('StreamFailed', {
      message: `cannot forward a local port to pod "${pod.name}": ${(cause as Error).message}`,
      hint: 'choose another local port, or 0 for any that is free',
      cause,
    })
  }
}

interface Forwarding {
  pod: PodRef
  port: number
  signal: AbortSignal
}

async function carry(api: Api, local: Socket, { pod, port, signal }: Forwarding): Promise<void> {
  const { namespace, name } = pod
  const subject = { verb: 'get', resource: 'pods/portforward', namespace, name }
  const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`
  const path = `${place}/portforward${queryString({ ports: port })}`
  local.on('error', () => undefined)
  try {
    const remote = await openChannelSocket(api, { path, subject, protocols: ['v4.channel.k8s.io'], signal })
    local.once('close', () => remote.close())
    const sending = sendAll(local, data => remote.send({ channel: channel.data, data }))
    sending.catch(() => remote.close())
    const greeted = new Set<number>()
    for await (const message of remote.messages()) {
      const first = !greeted.has(message.channel)
      greeted.add(message.channel)
      const data = first ? message.data.subarray(portBytes) : message.data
      if (data.length === 0) continue
      if (message.channel === channel.error) throw refused(describeSubject(subject), port, data.toString())
      if (!local.write(data)) await Promise.race([once(local, 'drain'), once(local, 'close')])
    }
    local.end()
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    local.destroySoon()
  }
}

async function sendAll(local: Socket, send: (data: Buffer) => Promise<void>): Promise<void> {
  for await (const data of local) await send(data as Buffer)
}

function refused(what: string, port: number, reason: string): KubeError {
  return new KubeError('StreamFailed', {
    message: `cannot ${what}: ${reason.trim()}`,
    hint: `check that something in the pod listens on port ${port}`,
  })
}
