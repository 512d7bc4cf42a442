import { type ServiceError, status } from '@grpc/grpc-js'
import { ObjectStoreError, type ObjectStoreErrorCode, objectStoreErrorCodes } from '../object-store-error.ts'
import { PluginError, type PluginErrorCode, pluginErrorCodes } from '../plugin-error.ts'
import { errorDomains } from './error-to-status.ts'
import { parseStatusDetails, type StatusDetails, statusDetailsTrailer } from './status-details.ts'

/**
 * What a caller of a plugin gets for the status of a failed call. `about` says what was asked of whom. A code that the plugin sent is
 * kept; what Go plugins send, which is text, is recognised where Velero's libraries make it. Codes for calls that failed on their way
 * are ours alone: a plugin that says so has answered, and FAILED.
 */
export function statusToError(failure: ServiceError, about: string): PluginError | ObjectStoreError {
  const details = detailsOf(failure)
  const text = sentText(failure)
  const { domain, reason: sent = '' } = details?.info ?? {}
  if (domain === errorDomains.objectStore && sent in objectStoreErrorCodes) {
    return sentObjectStoreError(sent as ObjectStoreErrorCode, text, details)
  }
  const code = codeOf(failure, { text, details })
  const hint = details?.info?.metadata.hint ?? hints[code]
  return new PluginError(code, {
    reason: `${about}: ${withoutHint(text, hint)}`,
    hint,
    cause: failure,
    frames: details?.frames ?? [],
  })
}

/** What the plugin said, or gRPC in its place, without any word of ours. */
export function sentText(failure: ServiceError): string {
  // Node drops header values that begin or end with blanks, and Go does not escape them; the details hold the message whole.
  return detailsOf(failure)?.message || failure.details
}

const hints: Partial<Record<PluginErrorCode, string>> = {
  TOO_LARGE: 'Programs in Go accept messages of 4 MiB; make the object smaller or leave it out',
  UNAVAILABLE: 'The plugin program has ended; its last words are in the log',
}

/** What grpc-js says of a call that it has ended itself (call.js), and of one whose stream was reset (subchannel-call.js). */
const wordsOfCancelledCalls: ReadonlySet<string> = new Set(['Cancelled on client', 'Call cancelled'])

function codeOf(
  failure: ServiceError,
  { text, details }: { text: string; details: StatusDetails | undefined },
) {
  const { domain, reason = '' } = details?.info ?? {}
  if (domain === errorDomains.plugin && reason in pluginErrorCodes) {
    const sent = reason as PluginErrorCode
    return pluginErrorCodes[sent].transport ? 'FAILED' : sent
  }
  switch (failure.code) {
    case status.UNIMPLEMENTED:
      return 'UNIMPLEMENTED'
    case status.ABORTED:
      return 'PANICKED'
    case status.CANCELLED:
      return details === undefined && wordsOfCancelledCalls.has(text) ? 'CANCELLED' : 'FAILED'
    case status.DEADLINE_EXCEEDED:
      // Our calls have no deadline of gRPC: it is one of the plugin's own.
      return 'FAILED'
    case status.UNAVAILABLE:
      return details === undefined ? 'UNAVAILABLE' : 'FAILED'
    case status.RESOURCE_EXHAUSTED:
      return /message larger than max/.test(text) ? 'TOO_LARGE' : 'FAILED'
    default:
      return codeOfText(text)
  }
}

function codeOfText(text: string): PluginErrorCode {
  if (/does not support asynchronous operations/.test(text)) return 'ASYNC_OPERATIONS_NOT_SUPPORTED'
  if (/operation ID .* is invalid/i.test(text)) return 'INVALID_OPERATION_ID'
  if (/was not found or has an invalid name format/.test(text)) return 'NO_SUCH_PLUGIN'
  return 'FAILED'
}

function sentObjectStoreError(code: ObjectStoreErrorCode, text: string, details: StatusDetails | undefined) {
  const { hint, retryable } = details?.info?.metadata ?? {}
  return new ObjectStoreError(code, {
    reason: withoutHint(text, hint),
    ...(hint !== undefined && { hint }),
    ...(retryable !== undefined && { retryable: retryable === 'true' }),
  })
}

function withoutHint(text: string, hint: string | undefined): string {
  return hint !== undefined && text.endsWith(`. ${hint}`) ? text.slice(0, -hint.length - 2) : text
}

function detailsOf({ metadata }: ServiceError): StatusDetails | undefined {
  const [bytes] = metadata.get(statusDetailsTrailer)
  if (!(bytes instanceof Uint8Array)) return undefined
  try {
    return parseStatusDetails(bytes)
  } catch {
    return undefined
  }
}
