import { isDeepStrictEqual } from 'node:util'
import {
  isForbidden,
  isInvalid,
  KubeError,
  type KubeObject,
  type ResourceClient,
  unlessNotFound,
} from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { InstallPorts } from './install-ports.ts'
import { installedKind, type StoredBinding } from './installed-kinds.ts'
import { sameRole } from './same-binding.ts'

/** The name under which this program's fields are recorded in objects. */
export const fieldManager = 'lateen-cli'

export type ApplyOutcome = 'created' | 'configured' | 'unchanged'

/**
 * Makes an object what it shall be, taking over the fields that others have set and leaving alone those that the object
 * does not name. Throws a CliError that names the object and says that the command may be repeated.
 */
export async function applyObject(object: KubeObject, ports: InstallPorts): Promise<ApplyOutcome> {
  const { client, signal } = ports
  const stored = client.resource(installedKind(object), object.metadata.namespace)
  try {
    await releaseRole(stored, object, signal)
    return await applyTo(stored, object, signal)
  } catch (error) {
    throw notApplied(object, error, signal)
  }
}

/** Applies an object through its resource client. Throws KubeErrors. */
export async function applyTo<T extends KubeObject>(
  stored: ResourceClient<T>,
  object: KubeObject,
  signal: AbortSignal,
): Promise<ApplyOutcome> {
  const name = object.metadata.name ?? ''
  const before = await stored.get(name, { signal }).catch(unlessNotFound)
  const after = await stored.patch(
    name,
    { type: 'apply', body: object, fieldManager, force: true },
    { signal },
  )
  if (before === undefined) return 'created'
  return isSameForUs(before, after) ? 'unchanged' : 'configured'
}

/**
 * Whether an object is what it was, but for what controllers write by themselves: its status, which in Velero's kinds counts as a generation, and
 * the revision of a Deployment. Fields that became ours are a difference.
 */
export function isSameForUs(before: KubeObject, after: KubeObject): boolean {
  if (before.metadata.resourceVersion === after.metadata.resourceVersion) return true
  return isDeepStrictEqual(withoutControllers(before), withoutControllers(after))
}

function withoutControllers(object: KubeObject): object {
  const { status: _, metadata, ...rest } = object as KubeObject & { status?: unknown }
  const { resourceVersion: _version, generation: _generation, managedFields = [], ...own } = metadata
  const { 'deployment.kubernetes.io/revision': _revision, ...annotations } = metadata.annotations ?? {}
  const ours = managedFields.filter(entry => (entry as { manager?: string }).manager === fieldManager)
  return { ...rest, metadata: { ...own, annotations, managedFields: ours } }
}

/** The role of a binding cannot be changed; a binding to another role makes room for a new one. */
async function releaseRole(
  stored: ResourceClient<KubeObject>,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const wanted = (object as StoredBinding).roleRef
  if (wanted === undefined) return
  const name = object.metadata.name ?? ''
  const found: StoredBinding | undefined = await stored.get(name, { signal }).catch(unlessNotFound)
  if (found === undefined || sameRole(found.roleRef, wanted)) return
  await stored.delete(name, { signal, preconditions: { uid: found.metadata.uid } }).catch(unlessNotFound)
}

function notApplied(object: KubeObject, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || !(error instanceof KubeError)) return error
  const refused = isForbidden(error) || isInvalid(error)
  return new CliError(
    refused ? 'REFUSED' : 'UNREACHABLE',
    `${object.kind}/${object.metadata.name} was not applied: ${error.message}`,
    {
      hint: `${error.hint ? `${error.hint}; ` : ''}then run the same command again: what is there already stays`,
      cause: error,
    },
  )
}
