import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Client, credentials } from '@grpc/grpc-js'
import type { Handshake } from '@lateen/plugin'

const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
/** Numbers of grpc.reflection.v1: what is asked by symbol, and the files in the answer. */
const fileContainingSymbol = 4
const fileDescriptorResponse = 4
const fileDescriptorProto = 1

/** The descriptions that a server in Go was compiled with, of the files that define these symbols and all that they import. */
export async function describedFiles(
  { address }: Handshake,
  symbols: readonly string[],
): Promise<Map<string, FileDescriptorProto>> {
  const client = new Client(`unix:${address}`, credentials.createInsecure())
  const files = new Map<string, FileDescriptorProto>()
  try {
    for (const symbol of symbols) {
      for (const file of await filesFor(client, symbol)) files.set(file.name, file)
    }
    return files
  } finally {
    client.close()
  }
}

function filesFor(client: Client, symbol: string): Promise<FileDescriptorProto[]> {
  const call = client.makeBidiStreamRequest<string, Buffer>(
    path,
    name =>
      Buffer.from(
        new BinaryWriter().tag(fileContainingSymbol, WireType.LengthDelimited).string(name).finish(),
      ),
    bytes => bytes,
  )
  return new Promise((resolve, reject) => {
    call.on('error', reject)
    call.once('data', (answer: Buffer) => {
      call.end()
      resolve(
        fieldsOf(answer, fileDescriptorResponse).flatMap(response =>
          fieldsOf(response, fileDescriptorProto).map(parse),
        ),
      )
    })
    call.write(symbol)
  })
}

const parse = (bytes: Uint8Array) => fromBinary(FileDescriptorProtoSchema, bytes)

function fieldsOf(bytes: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(bytes)
  const values: Uint8Array[] = []
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    if (number === wanted && type === WireType.LengthDelimited) values.push(reader.bytes())
    else reader.skip(type)
  }
  return values
}

/** What of messages and methods is visible on the wire, by their full names. */
export function wireShape(files: Iterable<FileDescriptorProto>): Map<string, unknown> {
  const shapes = new Map<string, unknown>()
  for (const file of files) {
    for (const message of file.messageType) addMessage(shapes, file.package, message)
    for (const service of file.service) {
      for (const { name, inputType, outputType, clientStreaming, serverStreaming } of service.method) {
        const shape = { inputType, outputType, clientStreaming, serverStreaming }
        shapes.set(`${file.package}.${service.name}/${name}`, shape)
      }
    }
  }
  return shapes
}

type Message = FileDescriptorProto['messageType'][number]

function addMessage(shapes: Map<string, unknown>, parent: string, message: Message): void {
  const name = `${parent}.${message.name}`
  const fields = message.field.map(({ name, number, label, type, typeName }) => ({
    name,
    number,
    label,
    type,
    typeName,
  }))
  const enums = message.enumType.map(({ name, value }) => ({
    name,
    values: value.map(({ name, number }) => ({ name, number })),
  }))
  shapes.set(name, { fields: fields.sort((a, b) => a.number - b.number), enums })
  for (const nested of message.nestedType) addMessage(shapes, name, nested)
}
