import type { status } from '@grpc/grpc-js'

/** The names of gRPC's status codes. */
export type CsiCode = keyof typeof status

/** Why a call of the driver failed, as its caller gets to know it. */
export class CsiError extends Error {
  readonly code: CsiCode

  constructor(code: CsiCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CsiError'
    this.code = code
  }
}

/** What a caller must say. Throws INVALID_ARGUMENT for what is empty or absent. */
export function required<T>(value: T, what: string): NonNullable<T> {
  if (value === undefined || value === null || value === '') {
    throw new CsiError('INVALID_ARGUMENT', `${what} is missing`)
  }
  return value
}
