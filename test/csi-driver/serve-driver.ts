import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { controllerService } from './controller-service.ts'
import type { Driver } from './driver.ts'
import { openDriverState } from './driver-state.ts'
import { FaultControl } from './faults.ts'
import { groupControllerService } from './group-controller-service.ts'
import { identityService } from './identity-service.ts'
import { KeyedLock } from './keyed-lock.ts'
import { nodeService } from './node-service.ts'
import { addService } from './rpc-service.ts'
import { watchedCalls } from './watched-calls.ts'
import { Controller, GroupController, Identity, Node } from './wire/csi_pb.ts'
import { Registration } from './wire/plugin-registration_pb.ts'

export interface DriverOptions {
  /** Under which classes and the kubelet know it. */
  readonly name: string
  readonly nodeId: string
  readonly stateFolder: string
  /** The socket of its services. */
  readonly socket: string
  /** The socket through which the kubelet finds it. */
  readonly registrationSocket?: string
  readonly capacityBytes?: number
  readonly log: (line: object) => void
}

/** Serves a driver. It is ready when this resolves, and gone when what it resolves to is disposed of. */
export async function serveDriver(options: DriverOptions): Promise<AsyncDisposable> {
  const { name, nodeId, stateFolder, socket, registrationSocket, log } = options
  await mkdir(stateFolder, { recursive: true })
  const faults = new FaultControl(stateFolder)
  const driver: Driver = {
    name,
    nodeId,
    state: await openDriverState(stateFolder),
    locks: new KeyedLock(),
    faults,
    capacityBytes: options.capacityBytes ?? 1024 ** 4,
    now: Date.now,
    newId: randomUUID,
  }
  const around = watchedCalls(faults, log)
  const server = new Server()
  addService(server, Identity, { handlers: identityService(driver), around })
  addService(server, Controller, { handlers: controllerService(driver), around })
  addService(server, GroupController, { handlers: groupControllerService(driver), around })
  addService(server, Node, { handlers: nodeService(driver), around })
  await listen(server, socket)
  const servers = [server]
  if (registrationSocket !== undefined) {
    const registration = registrationServer({ name, socket, log })
    servers.push(registration)
    await listen(registration, registrationSocket)
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const each of servers) each.forceShutdown()
    },
  }
}

/** Answers the kubelet, which finds the socket by itself. */
function registrationServer({ name, socket, log }: Pick<DriverOptions, 'name' | 'socket' | 'log'>): Server {
  const server = new Server()
  addService(server, Registration, {
    handlers: {
      getInfo: async () => ({ type: 'CSIPlugin', name, endpoint: socket, supportedVersions: ['1.0.0'] }),
      notifyRegistrationStatus: async ({ pluginRegistered, error }) => {
        log({ pluginRegistered, error })
        return {}
      },
    },
    around: (_method, _request, work) => work(),
  })
  return server
}

/** A socket that is there is of a driver that was killed. */
async function listen(server: Server, socket: string): Promise<void> {
  await mkdir(path.dirname(socket), { recursive: true })
  await rm(socket, { force: true })
  await new Promise<void>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure()
    server.bindAsync(`unix:${socket}`, credentials, error => (error ? reject(error) : resolve()))
  })
}
