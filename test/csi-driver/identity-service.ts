import type { HandlersOf } from '../../packages/plugin/src/serve/implement-service.ts'
import type { Driver } from './driver.ts'
import {
  type Identity,
  PluginCapability_Service_Type as Service,
  PluginCapability_VolumeExpansion_Type as VolumeExpansion,
} from './wire/csi_pb.ts'

/** Who the driver is and which services it has. */
export function identityService({ name }: Driver): HandlersOf<typeof Identity> {
  return {
    getPluginInfo: async () => ({ name, vendorVersion: '1' }),
    getPluginCapabilities: async () => ({
      capabilities: [
        { type: { case: 'service', value: { type: Service.CONTROLLER_SERVICE } } },
        { type: { case: 'service', value: { type: Service.GROUP_CONTROLLER_SERVICE } } },
        { type: { case: 'volumeExpansion', value: { type: VolumeExpansion.ONLINE } } },
      ],
    }),
    probe: async () => ({ ready: true }),
  }
}
