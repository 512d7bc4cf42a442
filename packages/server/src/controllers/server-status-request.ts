import {
  formatTime,
  type PluginInfo,
  parseTime,
  type ServerStatusRequest,
  ServerStatusRequestKind,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Outcome,
  type ReconcileContext,
  unlessNotFound,
  watching,
} from '@lateen/kube'

/** How long an answer stays before the request is deleted. */
export const ANSWER_LIFETIME_MS = 60_000

export interface StatusRequestControllerOptions {
  client: KubeClient
  informer: Informer<ServerStatusRequest>
  clock: Clock
  serverVersion: string
  plugins: () => readonly PluginInfo[]
}

export type StatusRequestStep =
  | { type: 'answer' }
  | { type: 'wait'; afterMs: number }
  | { type: 'delete' }
  /** Gone, or in a phase that is not ours. */
  | { type: 'ignore' }

/** What to do about a request: answer a new one, delete an answered one after its time. */
export function nextStep(request: ServerStatusRequest | undefined, now: number): StatusRequestStep {
  if (request === undefined) return { type: 'ignore' }
  const { phase, processedTimestamp } = request.status ?? {}
  if (phase === undefined || phase === 'New') return { type: 'answer' }
  if (phase !== 'Processed') return { type: 'ignore' }
  const answeredAt = timeOr(processedTimestamp, 0)
  const afterMs = answeredAt + ANSWER_LIFETIME_MS - now
  return afterMs <= 0 ? { type: 'delete' } : { type: 'wait', afterMs }
}

function timeOr(text: string | null | undefined, otherwise: number): number {
  try {
    return text === undefined || text === null ? otherwise : parseTime(text)
  } catch {
    return otherwise
  }
}

/** Tells the command line which version and plugins this server has. */
export function serverStatusRequestController(options: StatusRequestControllerOptions): ControllerOptions {
  const { informer, clock } = options

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const request = informer.get(key)
    const step = nextStep(request, clock.now())
    if (request === undefined) return done()
    switch (step.type) {
      case 'answer':
        await answer(request, options, context)
        return again({ afterMs: ANSWER_LIFETIME_MS })
      case 'wait':
        return again({ afterMs: step.afterMs })
      case 'delete':
        await remove(request, options, context)
        return done()
      case 'ignore':
        return done()
    }
  }

  return {
    name: 'server-status-request',
    sources: [watching({ informer })],
    reconcile,
    concurrency: 10,
  }
}

async function answer(
  { metadata }: ServerStatusRequest,
  { client, clock, serverVersion, plugins }: StatusRequestControllerOptions,
  { signal }: ReconcileContext,
): Promise<void> {
  const status = {
    phase: 'Processed',
    processedTimestamp: formatTime(clock.now()),
    serverVersion,
    plugins: plugins(),
  }
  await client
    .resource(ServerStatusRequestKind, metadata.namespace)
    .patch(metadata.name ?? '', { type: 'merge', body: { status } }, { signal })
    .catch(unlessNotFound)
}

async function remove(
  { metadata }: ServerStatusRequest,
  { client }: StatusRequestControllerOptions,
  { signal }: ReconcileContext,
): Promise<void> {
  await client
    .resource(ServerStatusRequestKind, metadata.namespace)
    .delete(metadata.name ?? '', { signal })
    .catch(unlessNotFound)
}
