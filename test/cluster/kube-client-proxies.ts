import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A proxy on loopback. */
export interface Proxy extends AsyncDisposable {
  readonly url: string
  /** `host:port` of every tunnel that was asked for. */
  readonly targets: string[]
}

/** A proxy that tunnels with CONNECT. */
export async function startHttpProxy(): Promise<Proxy> {
  const targets: string[] = []
  const sockets: Duplex[] = []
  const server = createHttpServer()
  server.on('connect', (request, client: Duplex) => {
    const [host = '', port] = (request.url ?? '').split(':')
    targets.push(request.url ?? '')
    const target = connect(Number(port), host, () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
    sockets.push(...join(client, target))
  })
  return listen('http', server, { targets, sockets })
}

/** A proxy that speaks SOCKS 5 (RFC 1928) without authentication. */
export async function startSocksProxy(): Promise<Proxy> {
  const targets: string[] = []
  const sockets: Duplex[] = []
  const server = createServer(async client => {
    await read(client)
    client.write(Buffer.from([5, 0]))
    const { host, port } = parseSocksRequest(await read(client))
    targets.push(`${host}:${port}`)
    const target = connect(port, host, () => {
      client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
      sockets.push(...join(client, target))
    })
  })
  return listen('socks5', server, { targets, sockets })
}

async function read(socket: Socket): Promise<Buffer> {
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes
}

/** Address type 1 is four bytes, 3 a length and a name. */
function parseSocksRequest(bytes: Buffer): { host: string; port: number } {
  const isName = bytes[3] === 3
  const end = isName ? 5 + (bytes[4] ?? 0) : 8
  const host = isName ? bytes.toString('latin1', 5, end) : bytes.subarray(4, end).join('.')
  return { host, port: bytes.readUInt16BE(end) }
}

function join(client: Duplex, target: Socket): Duplex[] {
  for (const socket of [client, target]) socket.on('error', () => undefined)
  client.pipe(target).pipe(client)
  return [client, target]
}

async function listen(
  scheme: string,
  server: Server,
  { targets, sockets }: { targets: string[]; sockets: Duplex[] },
): Promise<Proxy> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as { port: number }).port}`,
    targets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
