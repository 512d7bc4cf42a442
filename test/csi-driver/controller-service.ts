import type { HandlersOf } from '../../packages/plugin/src/serve/implement-service.ts'
import type { Driver } from './driver.ts'
import { snapshotHandlers } from './snapshot-handlers.ts'
import { volumeHandlers } from './volume-handlers.ts'
import { type Controller, ControllerServiceCapability_RPC_Type as Rpc } from './wire/csi_pb.ts'

/** What the controller can do. Volumes are published without it: there is nothing to attach. */
const capabilities = [
  Rpc.CREATE_DELETE_VOLUME,
  Rpc.LIST_VOLUMES,
  Rpc.GET_CAPACITY,
  Rpc.CREATE_DELETE_SNAPSHOT,
  Rpc.LIST_SNAPSHOTS,
  Rpc.GET_SNAPSHOT,
  Rpc.CLONE_VOLUME,
  Rpc.EXPAND_VOLUME,
  Rpc.SINGLE_NODE_MULTI_WRITER,
]

/** Volumes and snapshots as the cluster asks for them. */
export function controllerService(driver: Driver): Partial<HandlersOf<typeof Controller>> {
  return {
    ...volumeHandlers(driver),
    ...snapshotHandlers(driver),
    controllerGetCapabilities: async () => ({
      capabilities: capabilities.map(type => ({ type: { case: 'rpc', value: { type } } })),
    }),
  }
}
