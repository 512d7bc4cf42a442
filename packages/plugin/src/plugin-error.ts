/**
 * Every way a call to a plugin fails, and whether it failed on the way, so that the same question may be asked again. Codes are
 * stable: callers branch on them, people search for them.
 */
export const pluginErrorCodes = {
  /** Asked for the progress of an operation, the action says that it starts none. */
  ASYNC_OPERATIONS_NOT_SUPPORTED: { transport: false },
  /** The plugin does not know the operation. */
  INVALID_OPERATION_ID: { transport: false },
  /** The program has no plugin of this kind and name. */
  NO_SUCH_PLUGIN: { transport: false },
  /** The program was built before the method existed. */
  UNIMPLEMENTED: { transport: false },
  /** The plugin's code has a bug: it panicked or threw what nobody throws on purpose. */
  PANICKED: { transport: false },
  /** The message is larger than the receiver accepts. */
  TOO_LARGE: { transport: false },
  /** The answer is not one that the protocol allows. */
  BAD_ANSWER: { transport: false },
  /** The plugin did what it was asked, and it went wrong. */
  FAILED: { transport: false },
  /** The program has ended, or cannot be reached. */
  UNAVAILABLE: { transport: true },
  /** No answer within the time that the caller allows. */
  TIMEOUT: { transport: true },
  /** The caller, or the end of the connection, ended the call. */
  CANCELLED: { transport: true },
  /** The line that a program printed is no handshake of a plugin. */
  BAD_HANDSHAKE: { transport: false },
  /** The name or the kind of a plugin is not allowed, or is used twice. */
  BAD_NAME: { transport: false },
} as const

export type PluginErrorCode = keyof typeof pluginErrorCodes

/** A place in the plugin's sources. */
export interface PluginStackFrame {
  file: string
  line: number
  function: string
}

export interface PluginErrorDetails {
  /** What went wrong, naming the plugin, the object or the operation. */
  reason: string
  /** What a person can do about it, as a sentence without its final period. */
  hint?: string | undefined
  cause?: unknown
  /** Where it began, in the order in which the plugin sent it: either end may come first. */
  frames?: readonly PluginStackFrame[]
}

/** What calls to a plugin reject with. Its message is the reason followed by the hint. */
export class PluginError extends Error {
  override readonly name = 'PluginError'
  readonly code: PluginErrorCode
  readonly hint: string | undefined
  readonly frames: readonly PluginStackFrame[]

  constructor(code: PluginErrorCode, { reason, hint, cause, frames = [] }: PluginErrorDetails) {
    super(hint === undefined ? reason : `${reason}. ${hint}`, cause === undefined ? {} : { cause })
    this.code = code
    this.hint = hint
    this.frames = frames
  }

  /** The call failed on its way to or from the plugin, which said nothing about the matter itself. */
  get transport(): boolean {
    return pluginErrorCodes[this.code].transport
  }
}

/** True for a `PluginError`, of the given code if one is given. Works across copies of this package. */
export function isPluginError(error: unknown, code?: PluginErrorCode): error is PluginError {
  if (!(error instanceof Error) || error.name !== 'PluginError' || !('code' in error)) return false
  return code === undefined || error.code === code
}

/** What `progress` rejects with where the action starts no operations. The words are Velero's, which are all that Go plugins send. */
export function asyncOperationsNotSupported(): PluginError {
  return new PluginError('ASYNC_OPERATIONS_NOT_SUPPORTED', {
    reason: 'Plugin does not support asynchronous operations',
  })
}

/** What `progress` rejects with where the plugin does not know the operation. */
export function invalidOperationId(operationId: string): PluginError {
  return new PluginError('INVALID_OPERATION_ID', { reason: `operation ID ${operationId} is invalid` })
}
