import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { Client, credentials } from '@grpc/grpc-js'
import type { WireService } from '../../packages/plugin/src/serve/implement-service.ts'
import { grpcMethod } from '../../packages/plugin/src/wire/grpc-method.ts'
import { Controller, GroupController, Identity, Node } from './wire/csi_pb.ts'

/** The methods of a service, to be called. */
export type CallsOf<Service extends WireService> = {
  readonly [Name in keyof Service['method']]: Service['method'][Name] extends {
    input: infer I extends DescMessage
    output: infer O extends DescMessage
  }
    ? (request: MessageInitShape<I>) => Promise<MessageShape<O>>
    : never
}

/** A driver as its callers see it. Calls throw grpc-js's ServiceError. */
export interface DriverClient extends Disposable {
  readonly identity: CallsOf<typeof Identity>
  readonly controller: CallsOf<typeof Controller>
  readonly groupController: CallsOf<typeof GroupController>
  readonly node: CallsOf<typeof Node>
}

/** Talks to the driver at a socket. */
export function driverClient(socket: string): DriverClient {
  const client = new Client(`unix:${socket}`, credentials.createInsecure())
  return {
    identity: callsOf(client, Identity),
    controller: callsOf(client, Controller),
    groupController: callsOf(client, GroupController),
    node: callsOf(client, Node),
    [Symbol.dispose]: () => client.close(),
  }
}

function callsOf<Service extends WireService>(client: Client, service: Service): CallsOf<Service> {
  const calls = Object.entries(service.method).map(([name, description]) => {
    const { path, requestSerialize, responseDeserialize } = grpcMethod(description)
    const call = (request: Record<string, unknown>) =>
      new Promise((resolve, reject) => {
        const answered = (error: unknown, answer?: object) => (error ? reject(error) : resolve(answer))
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, answered)
      })
    return [name, call]
  })
  return Object.fromEntries(calls)
}
