import { type DataDownload, labelNames } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'
import { targetSelectorAnnotation } from '../csi/data-moves.ts'
import { type Claim, ClaimKind } from './intermediate-claim.ts'

/**
 * The claim that is to get the volume of a download. One that only has its name, as of a later restore, is not it. Undefined when it is not there.
 * Throws KubeErrors.
 */
export async function targetClaimOf(
  { metadata, spec }: DataDownload,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<Claim | undefined> {
  const { namespace, pvc } = spec.targetVolume
  const found = await client.resource(ClaimKind, namespace).get(pvc, { signal }).catch(unlessNotFound)
  const expected = metadata.annotations?.[targetSelectorAnnotation]
  const selected = found?.spec?.selector?.matchLabels?.[labelNames.dynamicPvRestore]
  return expected === undefined || selected === expected ? found : undefined
}
