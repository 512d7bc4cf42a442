import { restoreInitHookAnnotationNames, restoreWaitNames } from '@lateen/api'
import { commandOf } from './pod-hooks.ts'
import type { PodPlace, SpecHooks } from './restore-spec-hooks.ts'

/** A container, as far as hooks look at it. */
export interface InitContainer {
  name?: string
  [field: string]: unknown
}

/** What asks for init containers. */
export interface InitHookSources {
  annotations: Readonly<Record<string, string>>
  place: PodPlace
  specHooks: readonly SpecHooks[]
  /** A UUID, for containers without a name. */
  newUid(): string
}

/**
 * The init containers that hooks add to a pod. One in its annotations takes the place of all in the spec; it is asked for by its image,
 * and runs what the image runs where there is no command. The containers are copies: they may be changed.
 */
export function initContainersOf(sources: InitHookSources): InitContainer[] {
  const { annotations, place, specHooks, newUid } = sources
  const names = restoreInitHookAnnotationNames
  const image = annotations[names.containerImage]
  if (image) {
    const name = annotations[names.containerName] || `velero-restore-init-${newUid().slice(0, 8)}`
    const command = annotations[names.command]
    return [{ name, image, ...(command && { command: commandOf(command) }) }]
  }
  return specHooks
    .filter(({ isFor }) => isFor(place))
    .flatMap(({ hooks }) => hooks.flatMap(({ init }) => init?.initContainers ?? []))
    .map(container => structuredClone(container) as InitContainer)
}

/**
 * The init containers of a pod with those of hooks among them: before the pod's own, but after the one that waits for volumes, so that
 * hooks find the data there. A pod that has one of the same name already, from an earlier restore, has it once.
 */
export function withInitContainers(
  own: readonly InitContainer[],
  added: readonly InitContainer[],
): InitContainer[] {
  const names = new Set(added.map(({ name }) => name))
  const waits = own[0]?.name === restoreWaitNames.container ? own.slice(0, 1) : []
  const others = own.slice(waits.length).filter(({ name }) => !names.has(name))
  return [...waits, ...added, ...others]
}
