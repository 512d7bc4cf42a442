import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'

/** Where the handler is mounted. */
export const DOWNLOAD_PATH = '/download/'

/** An object opened for one download. */
export interface DownloadObject extends AsyncDisposable {
  readonly size: number
  /** The bytes from `start` to `end`, both included. Called at most once. */
  read(start: number, end: number): Readable
}

/** A store whose objects this server hands out itself. Rejects with NOT_FOUND when there is no such object. */
export type DownloadSource = (object: { bucket: string; key: string }) => Promise<DownloadObject>

export interface DownloadLink {
  /** Names a source that was added. */
  source: string
  bucket: string
  key: string
  ttlSeconds: number
  /** Instead of the default base URL. */
  publicUrl?: string | undefined
}

export interface SignedDownloadsOptions {
  /** Secret bytes. Links made with another key are refused. */
  signingKey: Uint8Array
  clock: Clock
  /** How clients reach this server, such as `http://lateen.velero.svc:8085`. */
  publicUrl: () => string
}

/** Links to objects that this server serves, valid for a while and for one object each. */
export interface SignedDownloads {
  /** Makes a store's objects available under this name. A second source of a name replaces the first. */
  addSource(name: string, source: DownloadSource): void
  /** A link to one object. It needs no credentials and cannot be altered into another link. */
  sign(link: DownloadLink): string
  /** Answers GET and HEAD below `DOWNLOAD_PATH`, with single byte ranges. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

interface Claim {
  source: string
  bucket: string
  key: string
  /** Seconds since the epoch. */
  expires: number
}

/** Makes and serves signed links. Links do not outlive the signing key. */
export function createSignedDownloads(options: SignedDownloadsOptions): SignedDownloads {
  const sources = new Map<string, DownloadSource>()
  const signatureOf = (claim: string) => createHmac('sha256', options.signingKey).update(claim).digest('hex')

  return {
    addSource: (name, source) => void sources.set(name, source),

    sign({ source, bucket, key, ttlSeconds, publicUrl }) {
      const expires = Math.floor(options.clock.now() / 1000) + ttlSeconds
      const claim = serializeClaim({ source, bucket, key, expires })
      const base = withoutLastSlashes(publicUrl ?? options.publicUrl())
      return `${base}${DOWNLOAD_PATH}${claim}/${encodeURIComponent(fileNameOf(key))}?signature=${signatureOf(claim)}`
    },

    async handle(request, response) {
      const link = parseLink(request.url ?? '')
      const claim =
        link !== undefined && sameSecret(link.signature, signatureOf(link.claim))
          ? parseClaim(link.claim)
          : undefined
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return refuse(response, 405, 'use GET or HEAD')
      if (claim === undefined) return refuse(response, 403, 'this link is not valid')
      if (claim.expires * 1000 <= options.clock.now()) return refuse(response, 403, 'this link has expired')
      const source = sources.get(claim.source)
      if (source === undefined) return refuse(response, 404, 'there is no such object')
      await serve({ claim, source, request, response })
    },
  }
}

interface Exchange {
  claim: Claim
  source: DownloadSource
  request: IncomingMessage
  response: ServerResponse
}

async function serve({ claim, source, request, response }: Exchange): Promise<void> {
  try {
    await using object = await source(claim)
    const range = parseRange(request.headers.range, object.size)
    if (range === 'unsatisfiable') {
      response.setHeader('content-range', `bytes */${object.size}`)
      return refuse(response, 416, 'the object is shorter than that')
    }
    response.writeHead(range === undefined ? 200 : 206, headersOf(claim.key, object.size, range))
    const { start, end } = range ?? { start: 0, end: object.size - 1 }
    if (request.method === 'HEAD' || end < start) return void response.end()
    await pipeline(object.read(start, end), response)
  } catch (error) {
    if (response.headersSent) response.destroy()
    else if (isObjectStoreError(error, 'NOT_FOUND')) refuse(response, 404, 'there is no such object')
    else refuse(response, 500, 'the object could not be read')
  }
}

function refuse(response: ServerResponse, status: number, reason: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
  response.end(`${reason}\n`)
}

interface ByteRange {
  start: number
  end: number
}

function headersOf(key: string, size: number, range: ByteRange | undefined): Record<string, string | number> {
  return {
    'content-type': contentTypeOf(key),
    'content-length': range === undefined ? size : range.end - range.start + 1,
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(fileNameOf(key))}`,
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${size}` }),
  }
}

/**
 * The single range a `Range` header asks for. Undefined, meaning the whole object, without a header and for
 * headers that RFC 9110 allows to ignore (several ranges, other units, malformed).
 */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  const [first = '', last = ''] = match?.slice(1) ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

function contentTypeOf(key: string): string {
  // A compressed object is served as it is stored: clients of Velero's links decompress themselves.
  if (key.endsWith('.gz')) return 'application/gzip'
  return key.endsWith('.json') ? 'application/json' : 'application/octet-stream'
}

/** The regular expression for it would take time in proportion to the square of the length. */
function withoutLastSlashes(url: string): string {
  let to = url.length
  while (url[to - 1] === '/') to--
  return url.slice(0, to)
}

function fileNameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1)
}

function parseLink(url: string): { claim: string; signature: string } | undefined {
  const match = /^\/download\/([\w-]+)\/[^/?]*\?signature=([0-9a-f]{64})$/.exec(url)
  return match === null ? undefined : { claim: match[1] ?? '', signature: match[2] ?? '' }
}

function serializeClaim(claim: Claim): string {
  return Buffer.from(JSON.stringify([claim.source, claim.bucket, claim.key, claim.expires])).toString(
    'base64url',
  )
}

/** Only for claims whose signature held: nothing else is worth parsing. */
function parseClaim(text: string): Claim {
  const [source, bucket, key, expires] = JSON.parse(Buffer.from(text, 'base64url').toString())
  return { source, bucket, key, expires }
}

function sameSecret(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
