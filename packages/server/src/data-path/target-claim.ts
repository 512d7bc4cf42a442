import { type DataDownload, labelNames } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'
import { targetSelectorAnnotation } from '../csi/data-moves.ts'
import { type Claim, ClaimKind } from './intermediate-claim.ts'

export interface TargetPorts {
  client: KubeClient
  signal: AbortSignal
}

/** The claim that has the name of a download's target, be it another one. Throws KubeErrors. */
export function namesakeOf(
  { spec }: DataDownload,
  { client, signal }: TargetPorts,
): Promise<Claim | undefined> {
  const { namespace, pvc } = spec.targetVolume
  return client.resource(ClaimKind, namespace).get(pvc, { signal }).catch(unlessNotFound)
}

/**
 * The claim that is to get the volume of a download. One that only has its name, as of a later restore, is not it. Undefined when it is not there.
 * Throws KubeErrors.
 */
export async function targetClaimOf(download: DataDownload, ports: TargetPorts): Promise<Claim | undefined> {
  const found = await namesakeOf(download, ports)
  const expected = download.metadata.annotations?.[targetSelectorAnnotation]
  const selected = found?.spec?.selector?.matchLabels?.[labelNames.dynamicPvRestore]
  return expected === undefined || selected === expected ? found : undefined
}
