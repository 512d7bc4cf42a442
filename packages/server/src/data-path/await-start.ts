import { type DataMovePhase, isTerminal, PodVolumeBackupKind } from '@lateen/api'
import {
  type Clock,
  type KubeClient,
  type KubeObject,
  type Logger,
  type ResourceType,
  unlessNotFound,
  watchUntil,
} from '@lateen/kube'
import { DataPathError } from './data-path-error.ts'

/** What a mover reads of its object. */
export interface MoveObject extends KubeObject {
  spec: { cancel?: boolean }
  status?: { phase?: DataMovePhase | '' }
}

export interface AwaitPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  namespace: string
  signal: AbortSignal
}

/**
 * Waits until a node agent has said that the data is to move, and returns the object, which may be one to be cancelled by then. Throws
 * `NOT_STARTED` when its work is over before it began, and KubeErrors.
 */
export async function awaitStart<T extends MoveObject>(
  kind: ResourceType<T>,
  name: string,
  ports: AwaitPorts,
): Promise<T> {
  const { client, namespace, signal } = ports
  const started = (object: T | undefined): T | undefined => {
    const phase = object?.status?.phase
    if (phase === 'InProgress' || phase === 'Canceling') return object
    if (!isTerminal(PodVolumeBackupKind, phase)) return undefined
    throw new DataPathError('NOT_STARTED', {
      reason: `the ${kind.kind} ${namespace}/${name} is ${phase} already`,
      hint: 'There is nothing to do',
    })
  }
  // Asked for first, because a watch would wait for ever for what it is not allowed to see.
  const now = started(await client.resource(kind, namespace).get(name, { signal }).catch(unlessNotFound))
  return now ?? watchUntil<T, T>(kind, { ...ports, ...only(name) }, ([object]) => started(object))
}

/** Calls back once when the object is to be cancelled, or is gone; until the signal aborts. */
export async function watchForCancel<T extends MoveObject>(
  kind: ResourceType<T>,
  name: string,
  { cancel, ...ports }: AwaitPorts & { cancel: () => void },
): Promise<void> {
  const isUnwanted = ([object]: readonly T[]) =>
    object === undefined || object.spec.cancel === true ? true : undefined
  try {
    await watchUntil<T, true>(kind, { ...ports, ...only(name) }, isUnwanted)
    cancel()
  } catch (error) {
    if (!ports.signal.aborted) throw error
  }
}

function only(name: string): { fieldSelector: string } {
  return { fieldSelector: `metadata.name=${name}` }
}
