import type { Registered, ResourceSelector } from '@lateen/plugin'
import { type Labels, parseSelector } from '../filters/label-selector.ts'
import { createNameFilter } from '../filters/name-filter.ts'
import { type ResolveResource, resourceFilter } from '../filters/resource-names.ts'
import type { GroupResource } from './item.ts'
import { messageOf } from './item-error.ts'

/** An action and the objects it is for. */
export interface ResolvedAction<Action> extends Registered<Action> {
  matches(labels: Labels | undefined): boolean
}

/** Actions by the objects they are for, in the order in which they were registered. */
export interface ActionTable<Action> {
  /** Actions for objects of a type in a namespace (empty: without one), as far as that decides. */
  forPlace(groupResource: GroupResource, namespace: string): readonly ResolvedAction<Action>[]
}

/** An action that does not tell which objects it is for, so that no backup can be made with it. */
export class ActionSelectorError extends Error {
  override readonly name = 'ActionSelectorError'
  readonly code = 'ACTION_UNUSABLE'
  readonly hint = 'repair the plugin that the action comes from, or remove it'

  constructor(action: string, cause: unknown) {
    super(`the action ${action} does not tell which objects it is for: ${messageOf(cause)}`, { cause })
  }
}

interface PlacedAction<Action> extends ResolvedAction<Action> {
  isFor(groupResource: GroupResource, namespace: string): boolean
}

/** Asks every action once which objects it is for, all at the same time: programs start side by side. Throws ActionSelectorError. */
export async function resolveActions<Action extends { appliesTo(): Promise<ResourceSelector> }>(
  registered: readonly Registered<Action>[],
  resolve: ResolveResource,
): Promise<ActionTable<Action>> {
  const ask = async ({ name, action }: Registered<Action>): Promise<PlacedAction<Action>> => {
    try {
      return { name, action, ...whereIsFor(await action.appliesTo(), resolve) }
    } catch (error) {
      throw new ActionSelectorError(name, error)
    }
  }
  return tableOf(await Promise.all(registered.map(ask)))
}

function whereIsFor(
  selector: ResourceSelector,
  resolve: ResolveResource,
): Pick<PlacedAction<unknown>, 'isFor' | 'matches'> {
  const resources = resourceFilter(resolve, {
    includes: selector.includedResources,
    excludes: selector.excludedResources,
  })
  const namespaces = createNameFilter({
    includes: selector.includedNamespaces,
    excludes: selector.excludedNamespaces,
  })
  const { matches } = parseSelector(selector.labelSelector ?? '')
  return {
    matches,
    // One that names namespaces is not for objects without one.
    isFor: (groupResource, namespace) =>
      resources.includes(groupResource) &&
      (namespace === '' ? namespaces.everything : namespaces.includes(namespace)),
  }
}

function tableOf<Action>(actions: readonly PlacedAction<Action>[]): ActionTable<Action> {
  const byType = new Map<GroupResource, Map<string, readonly ResolvedAction<Action>[]>>()
  return {
    forPlace(groupResource, namespace) {
      let byNamespace = byType.get(groupResource)
      if (byNamespace === undefined) {
        byNamespace = new Map()
        byType.set(groupResource, byNamespace)
      }
      let found = byNamespace.get(namespace)
      if (found === undefined) {
        found = actions.filter(action => action.isFor(groupResource, namespace))
        byNamespace.set(namespace, found)
      }
      return found
    },
  }
}
