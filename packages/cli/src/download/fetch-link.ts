import http from 'node:http'
import https from 'node:https'
import { getCACertificates } from 'node:tls'
import { CliError } from '../cli-error.ts'
import type { Trust } from './download-ports.ts'

const MOST_REDIRECTS = 5
const LONGEST_REFUSAL = 2_000

/** What a connection to the object store needs. */
export interface FetchOptions {
  readonly trust: Trust
  /** For the proxies it may name. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  /** The longest silence that is waited through. */
  readonly timeoutMs: number
}

/**
 * GETs a link and returns its body, which the caller reads or destroys. Throws a CliError: `UNREACHABLE` when nobody is
 * there, `NO_FILE` for 404, `DOWNLOAD` for any other answer than 200 and for certificates that are not believed.
 */
export async function fetchLink(link: string, options: FetchOptions): Promise<http.IncomingMessage> {
  let url = new URL(link)
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const response = await get(url, options)
    const { statusCode: status = 0, headers } = response
    if (status === 200) return response
    const text = await startOf(response)
    if (status < 300 || status >= 400 || headers.location === undefined) throw refusal(url, status, text)
    url = new URL(headers.location, url)
  }
  throw new CliError('DOWNLOAD', `${url.origin} redirects again and again`)
}

function get(url: URL, options: FetchOptions): Promise<http.IncomingMessage> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new CliError('DOWNLOAD', `a link with ${url.protocol} cannot be followed`)
  }
  const { signal, timeoutMs, env: proxyEnv } = options
  const agent =
    url.protocol === 'https:'
      ? new https.Agent({ proxyEnv, ...tlsOptions(options.trust) })
      : new http.Agent({ proxyEnv })
  return new Promise((resolve, reject) => {
    const module = url.protocol === 'https:' ? https : http
    const request = module.get(url, { agent, signal, timeout: timeoutMs })
    request.once('response', resolve)
    request.once('timeout', () => request.destroy(new SilenceError(`${url.origin} is silent`)))
    // Stays for the body: an error after the response reaches its reader.
    request.on('error', error => reject(signal.aborted ? signal.reason : connectionError(url, error)))
  })
}

class SilenceError extends Error {
  readonly code = 'ESILENT'
}

function tlsOptions({ certificates, insecure }: Trust): https.AgentOptions {
  if (insecure) return { rejectUnauthorized: false }
  const usual = [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
  return { ca: [...usual, ...certificates] }
}

const unreachable = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'ESILENT',
])

function connectionError(url: URL, cause: Error & { code?: string }): CliError {
  const code = cause.code ?? ''
  if (unreachable.has(code)) {
    return new CliError('UNREACHABLE', `${url.origin} cannot be reached from here: ${cause.message}`, {
      hint: 'set publicUrl in the config of the backup location to an address that can be',
      cause,
    })
  }
  const certificate = /CERT|SELF_SIGNED|UNABLE_TO/.test(code)
  return new CliError('DOWNLOAD', `the connection to ${url.origin} failed: ${cause.message}`, {
    ...(certificate
      ? {
          hint: 'name its certificate authority with --cacert, or accept any with --insecure-skip-tls-verify',
        }
      : {}),
    cause,
  })
}

function refusal({ origin }: URL, status: number, text: string): CliError {
  if (status === 404) return new CliError('NO_FILE', 'the object store does not have this file')
  return new CliError('DOWNLOAD', `${origin} answered ${status} instead of the file: ${text.trim()}`)
}

/** The beginning of a body; the rest is dropped with its connection. */
async function startOf(response: http.IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  for await (const chunk of response) {
    text += chunk
    if (text.length >= LONGEST_REFUSAL) break
  }
  return text.slice(0, LONGEST_REFUSAL)
}
