import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CliError } from '../cli-error.ts'
import type { DownloadPorts, DownloadTarget } from './download-ports.ts'
import { fetchLink } from './fetch-link.ts'
import { forwardLink } from './forward-link.ts'
import { requestLink } from './request-link.ts'

/** What is read whole must fit in memory: more than the largest list of resources anybody has. */
const LARGEST_DOCUMENT = 256 * 1024 * 1024

/**
 * The bytes of a file, unpacked unless it is the archive of a backup. All traces of the request are removed when the
 * reading ends. Throws what requestLink and fetchLink throw, and a CliError (`DOWNLOAD`) when the file breaks off.
 */
export async function* streamDownload(
  target: DownloadTarget,
  ports: DownloadPorts,
): AsyncGenerator<Uint8Array> {
  await using requested = await requestLink(target, ports)
  await using scope = new AsyncDisposableStack()
  const body = await openLink(requested.url, ports, scope)
  try {
    yield* target.kind === 'BackupContents' ? body : unpacked(body)
  } catch (cause) {
    ports.signal.throwIfAborted()
    const reason = (cause as Error).message
    throw new CliError('DOWNLOAD', `the file broke off: ${reason}`, { hint: 'try again', cause })
  }
}

/** Reads a JSON file whole. Throws what streamDownload throws, and a SyntaxError. */
export async function downloadJson(target: DownloadTarget, ports: DownloadPorts): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of streamDownload(target, ports)) {
    size += chunk.length
    if (size > LARGEST_DOCUMENT) {
      throw new CliError('DOWNLOAD', `the file is larger than ${LARGEST_DOCUMENT} bytes`)
    }
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}

async function openLink(link: string, ports: DownloadPorts, scope: AsyncDisposableStack): Promise<Readable> {
  const body = await fetchLink(link, ports).catch(async (error: unknown) => {
    if (!(error instanceof CliError) || error.code !== 'UNREACHABLE') throw error
    const forwarded = await forwardLink(link, ports)
    if (forwarded === undefined) throw error
    scope.use(forwarded)
    return fetchLink(forwarded.url, { ...ports, env: {} })
  })
  scope.defer(() => void body.destroy())
  return body
}

function unpacked(body: Readable): Readable {
  const gunzip = createGunzip()
  // A failure of either reaches the reader of the second.
  pipeline(body, gunzip, () => {})
  return gunzip
}
