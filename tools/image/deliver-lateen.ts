import { cachedBundle } from '../bundle/cached-bundle.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { lateenImage } from './lateen-image.ts'

/** Makes the image of this checkout known to the node of a cluster and resolves to its name. Throws the signal's reason. */
export async function deliverLateen(
  cluster: Pick<Cluster, 'deliverImage'>,
  signal?: AbortSignal,
): Promise<string> {
  const image = await lateenImage({ bundle: await cachedBundle() })
  await cluster.deliverImage(image, signal)
  return image.name
}
