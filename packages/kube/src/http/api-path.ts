import { KubeError } from '../errors.ts'
import type { KubeObject, ResourceType } from '../object.ts'

/** What one request addresses: a collection, an object, or a part of an object. */
export interface ResourceAddress {
  type: ResourceType<KubeObject>
  namespace?: string | undefined
  name?: string | undefined
  subresource?: string | undefined
}

/** Query parameters; absent ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** `/apis/velero.io/v1/namespaces/velero/backups/nightly?…`. */
export function apiPath({ type, namespace, name, subresource }: ResourceAddress, query: Query = {}): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`
  const scope =
    type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`
  const part = subresource === undefined ? '' : `/${subresource}`
  return `${root}${scope}/${type.plural}${object}${part}${queryString(query)}`
}

/** `backups.velero.io`, or `configmaps` in the core group: how kubectl and RBAC messages name a kind. */
export function resourceName(type: ResourceType<KubeObject>): string {
  return type.group === '' ? type.plural : `${type.plural}.${type.group}`
}

/** The group and version as objects write it. */
export function apiVersionOf(type: ResourceType<KubeObject>): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`
}

/** `?a=b&c=d`, or nothing. */
export function queryString(query: Query): string {
  const pairs = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) pairs.append(key, String(value))
  return pairs.size === 0 ? '' : `?${pairs}`
}

/** Throws `NamespaceRequired` or `NameRequired` for an address that would silently mean a whole collection. */
export function requireObjectAddress(verb: string, address: ResourceAddress): void {
  const { type, namespace, name } = address
  if (type.namespaced && (namespace === undefined || namespace === '')) {
    throw new KubeError('NamespaceRequired', {
      message: `cannot ${verb} ${resourceName(type)}${name === undefined ? '' : ` "${name}"`}: no namespace was given`,
      hint: `${type.kind} objects live in namespaces: name one`,
    })
  }
  if (name === '') {
    throw new KubeError('NameRequired', {
      message: `cannot ${verb} ${resourceName(type)}: the name is empty`,
      hint: 'give the object a name',
    })
  }
}
