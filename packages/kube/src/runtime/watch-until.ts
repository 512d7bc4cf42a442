import type { KubeClient } from '../client.ts'
import { silentLogger } from '../logger.ts'
import type { KubeObject, ResourceType } from '../object.ts'
import { Informer, type InformerOptions } from './informer.ts'
import { LinkedAbort } from './linked-abort.ts'
import type { RuntimePorts } from './runtime-ports.ts'

/** Which objects are watched, and what with. */
export interface WatchUntilOptions<T extends KubeObject>
  extends Pick<InformerOptions<T>, 'labelSelector' | 'fieldSelector'>,
    Pick<RuntimePorts, 'clock'>,
    Partial<Pick<RuntimePorts, 'log' | 'random'>> {
  client: KubeClient
  namespace: string
  signal: AbortSignal
}

/**
 * Watches objects until something is decided of them, and resolves to that: asked with all of them when they are known, and after
 * each change. Where the API server does not answer, it is tried again for as long as that takes. Throws the signal's reason, and what `decide`
 * throws.
 */
export async function watchUntil<T extends KubeObject, R>(
  kind: ResourceType<T>,
  options: WatchUntilOptions<T>,
  decide: (objects: readonly T[]) => R | undefined,
): Promise<R> {
  const { client, namespace, signal, labelSelector, fieldSelector } = options
  const { clock, log = silentLogger, random = Math.random } = options
  using over = new LinkedAbort(signal)
  const informer = new Informer<T>(kind.kind, client.resource(kind, namespace), {
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ports: { log, clock, random },
  })
  const decided = Promise.withResolvers<R>()
  const ask = () => {
    if (!informer.hasSynced) return
    try {
      const answer = decide(informer.list())
      if (answer !== undefined) decided.resolve(answer)
    } catch (error) {
      decided.reject(error)
    }
  }
  informer.subscribe(() => ask())
  const running = informer.run(over.signal)
  const refused = () => decided.reject(signal.reason)
  signal.addEventListener('abort', refused, { once: true })
  try {
    await Promise.race([informer.synced(over.signal), decided.promise])
    ask()
    return await decided.promise
  } finally {
    signal.removeEventListener('abort', refused)
    over.abort()
    await running
  }
}
