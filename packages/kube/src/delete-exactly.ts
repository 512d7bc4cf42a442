import type { ResourceClient } from './client.ts'
import { unlessChanged } from './errors.ts'
import type { KubeObject } from './object.ts'

/** Deletes this very object, if it is there: another one that has its name by now is left alone. Throws KubeErrors. */
export async function deleteExactly<T extends KubeObject>(
  objects: ResourceClient<T>,
  { metadata }: Pick<KubeObject, 'metadata'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name = '', uid } = metadata
  await objects.delete(name, { preconditions: { uid }, signal }).catch(unlessChanged)
}
