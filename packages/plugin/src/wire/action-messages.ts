import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ActionItem, OperationProgress, ResourceIdentifier, ResourceSelector } from '../item-actions.ts'
import { parseItem, serializeItem } from '../item-json.ts'
import { PluginError } from '../plugin-error.ts'
import type {
  OperationProgressSchema,
  ResourceSelectorSchema,
  ResourceIdentifier as WireIdentifier,
  OperationProgress as WireProgress,
  ResourceSelector as WireSelector,
} from '../proto/velero/shared_pb.ts'

/** 0001-01-01, by which Go says that a time is not set. */
const GO_ZERO_TIME_MS = -62_135_596_800_000

/** 10000-01-01: from then on, a time cannot be written as Go reads it, and soon not as a Date. */
const GO_LAST_TIME_MS = 253_402_300_800_000

/** A selector as actions give it; a message that is absent selects everything. */
export function selectorFromWire(wire: WireSelector | undefined): ResourceSelector {
  if (wire === undefined) return {}
  const { includedNamespaces, excludedNamespaces, includedResources, excludedResources, selector } = wire
  return {
    ...(includedNamespaces.length > 0 && { includedNamespaces }),
    ...(excludedNamespaces.length > 0 && { excludedNamespaces }),
    ...(includedResources.length > 0 && { includedResources }),
    ...(excludedResources.length > 0 && { excludedResources }),
    ...(selector !== '' && { labelSelector: selector }),
  }
}

export function selectorToWire(selector: ResourceSelector): MessageInitShape<typeof ResourceSelectorSchema> {
  return {
    includedNamespaces: [...(selector.includedNamespaces ?? [])],
    excludedNamespaces: [...(selector.excludedNamespaces ?? [])],
    includedResources: [...(selector.includedResources ?? [])],
    excludedResources: [...(selector.excludedResources ?? [])],
    selector: selector.labelSelector ?? '',
  }
}

export function identifiersFromWire(wire: readonly WireIdentifier[]): ResourceIdentifier[] {
  return wire.map(({ group, resource, namespace, name }) => ({ group, resource, namespace, name }))
}

export function identifiersToWire(
  identifiers: readonly ResourceIdentifier[] | undefined,
): ResourceIdentifier[] {
  return (identifiers ?? []).map(({ group, resource, namespace, name }) => ({
    group,
    resource,
    namespace,
    name,
  }))
}

/**
 * Both ways of saying that a time is unknown, Unix 0 and Go's zero time, become undefined, and so do times that cannot be: before that
 * zero time, and after the year 9999. Counts are at most what a number holds exactly. Throws BAD_ANSWER without progress.
 */
export function progressFromWire(wire: WireProgress | undefined, about: string): OperationProgress {
  if (wire === undefined) throw badAnswer(about, 'it holds no progress')
  const { completed, err, operationUnits, description } = wire
  const time = (stamp: WireProgress['started']) => {
    const ms = stamp === undefined ? 0 : timestampMs(stamp)
    return ms === 0 || ms <= GO_ZERO_TIME_MS || ms >= GO_LAST_TIME_MS ? undefined : ms
  }
  return {
    completed,
    error: err,
    nCompleted: count(wire.nCompleted),
    nTotal: count(wire.nTotal),
    operationUnits,
    description,
    started: time(wire.started),
    updated: time(wire.updated),
  }
}

/** Rounded up, the largest of Go's int64 would be one that Go does not read. */
function count(wire: bigint): number {
  return Math.min(Math.max(Number(wire), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}

/** Times are always set, because Velero reads one that is absent as 1970. */
export function progressToWire(
  progress: OperationProgress,
): MessageInitShape<typeof OperationProgressSchema> {
  const { completed, error, operationUnits, description, started, updated } = progress
  return {
    completed,
    err: error.toWellFormed(),
    nCompleted: BigInt(Math.trunc(progress.nCompleted)),
    nTotal: BigInt(Math.trunc(progress.nTotal)),
    operationUnits,
    description: description.toWellFormed(),
    started: timestampFromMs(started ?? GO_ZERO_TIME_MS),
    updated: timestampFromMs(updated ?? GO_ZERO_TIME_MS),
  }
}

/** The object in an answer. Throws BAD_ANSWER for what is no object with a kind. */
export function answeredItem(bytes: Uint8Array, about: string): ActionItem {
  if (bytes.length === 0) throw badAnswer(about, 'the object is missing')
  let item: unknown
  try {
    item = parseItem(bytes)
  } catch (cause) {
    throw badAnswer(about, 'the object is not JSON', cause)
  }
  const problem = itemProblem(item)
  if (problem !== undefined) throw badAnswer(about, problem)
  return item as ActionItem
}

/** The JSON of an object that a plugin returns. Throws BAD_ANSWER for what Velero would not read. */
export function itemToWire(item: ActionItem, about: string): Uint8Array {
  const problem = itemProblem(item)
  if (problem !== undefined) throw badAnswer(about, problem)
  return serializeItem(item)
}

function itemProblem(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return 'the object is none'
  if (!('kind' in item) || typeof item.kind !== 'string' || item.kind === '') return 'the object has no kind'
  const hasMetadata = 'metadata' in item && typeof item.metadata === 'object' && item.metadata !== null
  return hasMetadata ? undefined : 'the object has no metadata'
}

/** An answer that the protocol does not allow. */
export function badAnswer(about: string, problem: string, cause?: unknown): PluginError {
  return new PluginError('BAD_ANSWER', {
    reason: `${about} was answered wrongly: ${problem}`,
    hint: 'This is a bug of the plugin; tell its author',
    ...(cause !== undefined && { cause }),
  })
}

/** An object as messages to people name it. */
export function describeItem({ kind, metadata }: ActionItem): string {
  const { namespace, name } = metadata
  return `${kind} ${namespace === undefined || namespace === '' ? '' : `${namespace}/`}${name ?? ''}`
}
