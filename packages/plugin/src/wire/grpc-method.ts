import {
  create,
  type DescMessage,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import type { MethodDefinition } from '@grpc/grpc-js'

/** A method as the generated description of its service has it. */
export interface WireMethod<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly name: string
  readonly parent: DescService
  readonly methodKind: 'unary' | 'server_streaming' | 'client_streaming' | 'bidi_streaming'
  readonly input: I
  readonly output: O
}

/** What is sent is given as plain fields, what is received is a message. */
export type GrpcMethod<I extends DescMessage, O extends DescMessage> = MethodDefinition<
  MessageInitShape<I> | MessageShape<I>,
  MessageInitShape<O> | MessageShape<O>
>

/** A method as grpc-js wants it, with the codecs of its messages. */
export function grpcMethod<I extends DescMessage, O extends DescMessage>(
  method: WireMethod<I, O>,
): GrpcMethod<I, O> {
  const { name, parent, methodKind, input, output } = method
  return {
    path: `/${parent.typeName}/${name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: request => encode(input, request),
    requestDeserialize: bytes => fromBinary(input, bytes),
    responseSerialize: response => encode(output, response),
    responseDeserialize: bytes => fromBinary(output, bytes),
  }
}

function encode<D extends DescMessage>(schema: D, fields: MessageInitShape<D> | MessageShape<D>): Buffer {
  const bytes = toBinary(schema, create(schema, fields as MessageInitShape<D>))
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
