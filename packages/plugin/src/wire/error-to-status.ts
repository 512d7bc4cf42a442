import { Metadata, type StatusObject, status } from '@grpc/grpc-js'
import { isObjectStoreError, type ObjectStoreError } from '../object-store-error.ts'
import { isPluginError, type PluginErrorCode, type PluginStackFrame } from '../plugin-error.ts'
import { type StatusDetails, serializeStatusDetails, statusDetailsTrailer } from './status-details.ts'
import { StatusError } from './status-error.ts'

/** The domains of the codes in the details of a status. */
export const errorDomains = {
  plugin: 'plugin.lateen.dev',
  objectStore: 'object-store.lateen.dev',
} as const

// Trailers of more than 8 KiB are going to be refused by Go's gRPC. The message is in them twice: with three characters for each
// byte that is not plain ASCII, and in base64 with the frames.
const MAX_MESSAGE_BYTES = 2700
const MAX_HINT_CHARACTERS = 200
const MAX_FRAMES = 6
const MAX_FRAME_CHARACTERS = 90

const statusCodes: Partial<Record<PluginErrorCode, status>> = {
  UNIMPLEMENTED: status.UNIMPLEMENTED,
  PANICKED: status.ABORTED,
  CANCELLED: status.CANCELLED,
}

/** Errors of the language itself: nobody throws them on purpose, but fetch, which names a cause. */
const bugs = [TypeError, ReferenceError, RangeError]

/**
 * The status by which a plugin tells its host of an error that its code threw: its text, where it began, and its code for hosts that
 * know it. Texts of more than a page are cut.
 */
export function errorToStatus(thrown: unknown): StatusObject {
  const error = thrown instanceof Error ? thrown : new Error(`a value was thrown: ${String(thrown)}`)
  const code = codeOf(error)
  const text =
    code === status.ABORTED && !isPluginError(error) ? `plugin panicked: ${textOf(error)}` : textOf(error)
  const message = fit(text.toWellFormed())
  const details: StatusDetails = { code, message, frames: stackFrames(error), info: infoOf(error) }
  const metadata = new Metadata()
  metadata.set(statusDetailsTrailer, Buffer.from(serializeStatusDetails(details)))
  return { code, details: message, metadata }
}

function codeOf(error: Error): status {
  if (error instanceof StatusError) return error.grpcCode
  if (isPluginError(error)) return statusCodes[error.code] ?? status.UNKNOWN
  if (error.name === 'AbortError') return status.CANCELLED
  return error.cause === undefined && bugs.some(bug => error instanceof bug) ? status.ABORTED : status.UNKNOWN
}

/** Velero deletes a backup whose archive is gone only if the text says so in one of the ways that it knows. */
const saysNotFound = /not found|does not exist|nosuchkey|blobnotfound|objectnotexist/i

function textOf(error: Error): string {
  const text = error.message === '' ? error.name : error.message
  return isObjectStoreError(error, 'NOT_FOUND') && !saysNotFound.test(text) ? `not found: ${text}` : text
}

function infoOf(error: Error): StatusDetails['info'] {
  if (isPluginError(error)) return info(errorDomains.plugin, error.code, error.hint)
  if (!isObjectStoreError(error)) return undefined
  const { code, hint, retryable }: ObjectStoreError = error
  const more = info(errorDomains.objectStore, code, hint)
  return { ...more, metadata: { ...more.metadata, retryable: String(retryable) } }
}

function info(domain: string, reason: string, hint: string | undefined) {
  return { domain, reason, metadata: hint === undefined ? {} : { hint: hint.slice(0, MAX_HINT_CHARACTERS) } }
}

/** The beginning of a text that fits into a trailer. */
function fit(text: string): string {
  let used = 0
  let end = 0
  for (const character of text) {
    const plain = character >= ' ' && character <= '~' && character !== '%'
    used += plain ? 1 : 3 * Buffer.byteLength(character)
    if (used > MAX_MESSAGE_BYTES) return `${text.slice(0, end)}…`
    end += character.length
  }
  return text
}

const frameLine = /^\s+at (?:async )?(?:(.+?) \()?(?:file:\/\/)?(.+?):(\d+):\d+\)?$/

function stackFrames(error: Error): PluginStackFrame[] {
  const lines = (error.stack ?? '').split('\n').map(line => frameLine.exec(line))
  return lines
    .filter(match => match !== null)
    .slice(0, MAX_FRAMES)
    .map(([, name = '', file = '', line = '0']) => ({
      file: file.slice(-MAX_FRAME_CHARACTERS),
      line: Number(line),
      function: name.slice(0, MAX_FRAME_CHARACTERS),
    }))
}
