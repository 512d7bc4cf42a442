import { type ExposePorts, type Exposure, exposeVolume } from '../data-path/expose-volume.ts'
import { requireLivePod } from '../data-path/live-pod.ts'
import type { MoveSort, VolumeMove } from './move-sort.ts'

/** What volumes of pods are exposed with. */
export type ExposingPodVolumes = Omit<ExposePorts, 'client' | 'signal'>

/** How volumes of this node's pods are exposed: by the folders that the kubelet keeps for them. Nothing but the mover's pod is left of that. */
export function exposesPodVolumes<T extends VolumeMove>(
  exposureOf: (object: T) => Exposure,
  ports: ExposingPodVolumes,
): Pick<MoveSort<T>, 'expose' | 'confirm' | 'isHere'> {
  return {
    isHere: () => true,
    async expose(object, { client, signal }) {
      await exposeVolume(exposureOf(object), { ...ports, client, signal })
      return 'done'
    },
    confirm: (object, { client, signal }) => requireLivePod(exposureOf(object).pod, { client, signal }),
  }
}
