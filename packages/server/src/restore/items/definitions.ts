import type { Clock, Discovery, ResourceType, Unstructured } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { RestoreSink, SinkTarget } from '../sink/sink.ts'

/** A CustomResourceDefinition, as far as it matters here. */
export interface Definition extends ActionItem {
  spec?: {
    group?: string
    names?: { plural?: string }
    versions?: readonly { name?: string; served?: boolean }[]
  }
  status?: { conditions?: readonly { type?: string; status?: string; message?: string }[] }
}

export interface DefinitionPorts {
  sink: RestoreSink
  discovery: Discovery
  clock: Clock
  /** Longest wait, in milliseconds. */
  timeoutMs: number
}

const pollMs = 200

/** Whether the server has taken the names of a definition and serves it. */
export function isEstablished({ status }: Definition): boolean {
  const holds = (type: string) =>
    status?.conditions?.some(condition => condition.type === type && condition.status === 'True') ?? false
  return holds('Established') && holds('NamesAccepted')
}

/** Waits until the server has accepted a definition. False when it has not in time. Throws KubeError, or the signal's reason. */
export async function awaitEstablished(
  target: SinkTarget,
  { sink, clock, timeoutMs }: DefinitionPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const giveUp = clock.now() + timeoutMs
  for (;;) {
    const live = await sink.read(target, { signal })
    if (live !== undefined && isEstablished(live)) return true
    if (clock.now() >= giveUp) return false
    await clock.sleep(pollMs, signal)
  }
}

/** The types that definitions bring. */
export function typesOf(
  definitions: Iterable<Definition>,
): Pick<ResourceType, 'group' | 'version' | 'plural'>[] {
  const types: Pick<ResourceType, 'group' | 'version' | 'plural'>[] = []
  for (const { spec } of definitions) {
    const plural = spec?.names?.plural ?? ''
    for (const { name = '', served } of spec?.versions ?? []) {
      if (served === true) types.push({ group: spec?.group ?? '', version: name, plural })
    }
  }
  return types
}

/**
 * Reads what the server offers until all types of some definitions are among it: it tells of them a moment after it has accepted
 * the definitions. The types that are still missing when time is up.
 */
export async function awaitServed(
  definitions: readonly Definition[],
  { discovery, clock, timeoutMs }: DefinitionPorts,
  signal: AbortSignal,
): Promise<Pick<ResourceType, 'group' | 'version' | 'plural'>[]> {
  const giveUp = clock.now() + timeoutMs
  const wanted = typesOf(definitions)
  for (;;) {
    await discovery.refresh({ signal })
    const served = new Set((await discovery.all({ signal })).map(nameOf))
    const missing = wanted.filter(type => !served.has(nameOf(type)))
    if (missing.length === 0 || clock.now() >= giveUp) return missing
    await clock.sleep(pollMs, signal)
  }
}

function nameOf({
  group,
  version,
  plural,
}: Pick<ResourceType<Unstructured>, 'group' | 'version' | 'plural'>): string {
  return `${plural}.${version}.${group}`
}
