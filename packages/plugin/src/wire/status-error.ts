import type { status } from '@grpc/grpc-js'

/** An error that travels with a gRPC code of its own. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly grpcCode: status

  constructor(code: status, message: string) {
    super(message)
    this.grpcCode = code
  }
}
