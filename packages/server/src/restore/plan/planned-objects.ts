import type { ActionItem } from '@lateen/plugin'
import { type GroupResource, groupResource } from '../../item/item.ts'
import type { SinkTarget } from '../sink/sink.ts'
import { type PlannedDefinition, serves } from './planned-definition.ts'

/** Why a namespace of the cluster cannot be written to yet. */
type Absence = 'absent' | 'being deleted'

/** What others refer to by name, so that the API server looks for it. */
const referredTo: ReadonlySet<string> = new Set([
  'serviceaccounts',
  'priorityclasses.scheduling.k8s.io',
  'runtimeclasses.node.k8s.io',
])

/** The cluster makes these by itself in each new namespace. */
const ownOfNamespaces: ReadonlySet<string> = new Set([
  'serviceaccounts/default',
  'configmaps/kube-root-ca.crt',
])

/** What a plan has decided to create, as far as later objects depend on it. */
export class PlannedObjects {
  readonly #namespaces = new Map<string, Absence>()
  readonly #definitions = new Map<string, PlannedDefinition>()
  readonly #referredTo = new Set<string>()

  addNamespace(name: string, absence: Absence): void {
    this.#namespaces.set(name, absence)
  }

  /** An object that would be there now. */
  add({ type, namespace, name }: SinkTarget, object: ActionItem): void {
    const resource = groupResource(type)
    if (resource === 'namespaces') this.addNamespace(name, 'absent')
    if (resource === 'customresourcedefinitions.apiextensions.k8s.io') this.#definitions.set(name, object)
    if (referredTo.has(resource)) this.#referredTo.add(keyOf(resource, namespace, name))
  }

  /** The definition of a type in this version, if it is planned. */
  definitionOf({ type }: Pick<SinkTarget, 'type'>): PlannedDefinition | undefined {
    const definition = this.#definitions.get(`${type.plural}.${type.group}`)
    return definition && serves(definition, type.version) ? definition : undefined
  }

  /** What is missing for an object to be tried, in words; undefined when nothing is. */
  absenceOf({ type, namespace, name }: SinkTarget, isServed: boolean): string | undefined {
    const place = namespace === '' ? undefined : this.#namespaces.get(namespace)
    const missing = [
      ...(place === undefined ? [] : [`namespace ${place}`]),
      ...(isServed ? [] : ['kind absent']),
    ]
    if (missing.length === 0) return undefined
    const own = place !== undefined && ownOfNamespaces.has(`${groupResource(type)}/${name}`)
    return `${missing.join(', ')}${own ? ', the cluster makes one, too' : ''}`
  }

  has(resource: string, { namespace, name }: { namespace: string; name: string }): boolean {
    return this.#referredTo.has(keyOf(resource as GroupResource, namespace, name))
  }
}

function keyOf(resource: GroupResource, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`
}
