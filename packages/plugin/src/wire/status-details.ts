import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import type { PluginStackFrame } from '../plugin-error.ts'
import { type ErrorInfo, ErrorInfoSchema, StatusSchema } from '../proto/google-rpc/status_pb.ts'
import { StackSchema } from '../proto/velero/shared_pb.ts'

/** The trailer that carries the details of a status. */
export const statusDetailsTrailer = 'grpc-status-details-bin'

/** What that trailer says. */
export interface StatusDetails {
  code: number
  message: string
  frames: PluginStackFrame[]
  /** What programs branch on; Go plugins send none. */
  info?: Pick<ErrorInfo, 'domain' | 'reason' | 'metadata'> | undefined
}

const stackType = 'type.googleapis.com/generated.Stack'
const infoType = 'type.googleapis.com/google.rpc.ErrorInfo'

export function serializeStatusDetails({ code, message, frames, info }: StatusDetails): Uint8Array {
  const details = [
    ...(frames.length === 0
      ? []
      : [
          create(AnySchema, {
            typeUrl: stackType,
            value: toBinary(StackSchema, create(StackSchema, { frames })),
          }),
        ]),
    ...(info === undefined
      ? []
      : [
          create(AnySchema, {
            typeUrl: infoType,
            value: toBinary(ErrorInfoSchema, create(ErrorInfoSchema, info)),
          }),
        ]),
  ]
  return toBinary(StatusSchema, create(StatusSchema, { code, message, details }))
}

/** Reads the trailer; details of other types are left out. Throws for bytes that are no message. */
export function parseStatusDetails(bytes: Uint8Array): StatusDetails {
  const { code, message, details } = fromBinary(StatusSchema, bytes)
  const detailOf = (type: string) => details.find(({ typeUrl }) => typeUrl === type)?.value
  const stack = detailOf(stackType)
  const info = detailOf(infoType)
  const frames = stack === undefined ? [] : fromBinary(StackSchema, stack).frames
  return {
    code,
    message,
    frames: frames.map(frame => ({ file: frame.file, line: frame.line, function: frame.function })),
    info: info === undefined ? undefined : fromBinary(ErrorInfoSchema, info),
  }
}
