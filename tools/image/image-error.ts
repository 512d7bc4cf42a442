/** What can go wrong while an image is made. */
export type ImageErrorCode =
  | 'TAR_MALFORMED'
  | 'IMAGE_FILE_LIST'
  | 'IMAGE_SOURCE_CHANGED'
  | 'IMAGE_PROGRAM_UNUSABLE'

/** An image could not be made, or an archive not read. */
export class ImageError extends Error {
  readonly code: ImageErrorCode
  readonly hint: string | undefined
  override name = 'ImageError'

  constructor(code: ImageErrorCode, message: string, details: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: details.cause })
    this.code = code
    this.hint = details.hint
  }
}
