import { type handleUnaryCall, type Server, status } from '@grpc/grpc-js'
import type { HandlersOf, WireService } from '../../packages/plugin/src/serve/implement-service.ts'
import { grpcMethod } from '../../packages/plugin/src/wire/grpc-method.ts'
import { CsiError } from './csi-error.ts'

/** What is done around every call: `work` is the call itself. */
export type Around = (method: string, request: object, work: () => Promise<object>) => Promise<object>

/** Adds a service of unary methods to a server. A method without a handler answers UNIMPLEMENTED. */
export function addService<Service extends WireService>(
  server: Server,
  service: Service,
  { handlers, around }: { handlers: Partial<HandlersOf<Service>>; around: Around },
): void {
  const definitions = Object.entries(service.method).map(([name, method]) => [name, grpcMethod(method)])
  const calls = Object.entries(handlers as Record<string, Handler>).map(([name, handler]) => {
    const method = service.method[name]?.name ?? name
    return [name, unary((request, signal) => around(method, request, () => handler(request, signal)))]
  })
  server.addService(Object.fromEntries(definitions), Object.fromEntries(calls))
}

type Handler = (request: object, signal: AbortSignal) => Promise<object>

function unary(handler: Handler): handleUnaryCall<object, object> {
  return (call, callback) => {
    const gone = new AbortController()
    call.on('cancelled', () => gone.abort(new CsiError('CANCELLED', 'the caller has gone away')))
    Promise.try(handler, call.request, gone.signal).then(
      fields => callback(null, fields),
      (error: Error) => callback({ code: codeOf(error), details: error.message }),
    )
  }
}

function codeOf(error: Error): status {
  return error instanceof CsiError ? status[error.code] : status.INTERNAL
}
