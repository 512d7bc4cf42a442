import { builtInKind, type KubeClient, type KubeObject } from '@lateen/kube'
import type { PodVolume } from './decide-volume.ts'

/** A pod, as far as it tells about volumes. */
export interface ClaimPod extends KubeObject {
  spec?: { volumes?: PodVolume[] | null }
}

/** The pods that use claims. */
export interface ClaimPods {
  /** All pods that mount a claim, whatever they do now. Throws KubeError. */
  using(claim: { namespace: string; name: string }, signal: AbortSignal): Promise<readonly ClaimPod[]>
}

const podType = builtInKind<ClaimPod>('Pod')

/** Lists the pods of a namespace when it is first asked about, and never again. */
export function createClaimPods(client: KubeClient): ClaimPods {
  const byNamespace = new Map<string, Promise<ReadonlyMap<string, ClaimPod[]>>>()
  return {
    async using({ namespace, name }, signal) {
      let reading = byNamespace.get(namespace)
      if (reading === undefined) {
        reading = listPods(client, namespace, signal)
        byNamespace.set(namespace, reading)
      }
      return (await reading).get(name) ?? []
    },
  }
}

async function listPods(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ClaimPod[]>> {
  const byClaim = new Map<string, ClaimPod[]>()
  for await (const pod of client.resource(podType, namespace).list({ signal })) {
    const { apiVersion, kind, metadata, spec } = pod
    const volumes = (spec?.volumes ?? []).filter(({ persistentVolumeClaim }) => persistentVolumeClaim)
    const { name = '', annotations = {} } = metadata
    const small: ClaimPod = { apiVersion, kind, metadata: { name, annotations }, spec: { volumes } }
    for (const claim of new Set(volumes.map(volume => volume.persistentVolumeClaim?.claimName ?? ''))) {
      byClaim.set(claim, [...(byClaim.get(claim) ?? []), small])
    }
  }
  return byClaim
}
