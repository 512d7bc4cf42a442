import { type KubeClient, type KubeObject, type Patch, type ResourceType, unlessNotFound } from '@lateen/kube'
import type { LatestObjects } from './latest-objects.ts'

/** What is written to which kind of object. */
export interface ObjectPatch<T extends KubeObject> {
  kind: ResourceType<T>
  patch: Patch
}

export interface PatchPorts<T extends KubeObject> {
  client: KubeClient
  /** Told what was written, so that nobody acts on what was before. */
  latest: LatestObjects<T>
  signal: AbortSignal
}

/** Writes to an object. Undefined when it is gone. Throws other KubeErrors. */
export async function patchObject<T extends KubeObject>(
  { metadata }: T,
  { kind, patch }: ObjectPatch<T>,
  { client, latest, signal }: PatchPorts<T>,
): Promise<T | undefined> {
  const written = await client
    .resource(kind, metadata.namespace)
    .patch(metadata.name ?? '', patch, { signal })
    .catch(unlessNotFound)
  if (written !== undefined) latest.note(written)
  return written
}
