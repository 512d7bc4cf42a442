/** Why scratch files cannot be used. */
export type ScratchErrorCode = 'SCRATCH_FULL' | 'SCRATCH_FAILED'

/** A failure of the place where a running backup keeps what it collects and writes. It ends the backup. */
export class ScratchError extends Error {
  override readonly name = 'ScratchError'
  readonly code: ScratchErrorCode
  readonly hint: string

  constructor(code: ScratchErrorCode, options: { message: string; hint: string; cause: unknown }) {
    super(options.message, { cause: options.cause })
    this.code = code
    this.hint = options.hint
  }
}

/** What an error of the file system means for a scratch file. */
export function scratchError(cause: unknown, file: string): ScratchError {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ScratchError('SCRATCH_FULL', {
      message: `the scratch space is full: cannot write ${file}`,
      hint: 'a backup needs room for the JSON of all objects that it takes and for its archive: enlarge the volume of the temporary folder',
      cause,
    })
  }
  return new ScratchError('SCRATCH_FAILED', {
    message: `the scratch file ${file} cannot be used: ${message}`,
    hint: 'check the temporary folder of the server: it must exist and be writable',
    cause,
  })
}
