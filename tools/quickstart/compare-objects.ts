import { isRestoreWaitState, restoreWaitNames } from '@lateen/api'
import type { Unstructured } from '@lateen/kube'

/** An object of the cluster, read as it is. */
export type Observed = Unstructured & { [field: string]: unknown }

/** How what is there now differs from what was there. Objects are named `Kind name`. */
export interface Comparison {
  same: string[]
  /** With the paths of the fields that differ. */
  different: { object: string; fields: string[] }[]
  missing: string[]
  added: string[]
}

/**
 * Compares objects by kind, namespace and name. What a cluster gives out anew to every object is left aside: UIDs, versions, times,
 * status, addresses, nodes, volumes; and the labels of a restore, and who waits for its volumes. Owners are compared by their names, and must be there.
 */
export function compareObjects(before: readonly Observed[], after: readonly Observed[]): Comparison {
  const then = new Map(before.map(object => [nameOf(object), essenceOf(object, before)]))
  const now = new Map(after.map(object => [nameOf(object), essenceOf(object, after)]))
  const comparison: Comparison = {
    same: [],
    different: [],
    missing: [],
    added: [...now.keys()].filter(name => !then.has(name)),
  }
  for (const [object, essence] of then) {
    const found = now.get(object)
    if (found === undefined) comparison.missing.push(object)
    else {
      const fields = differences(essence, found, '')
      if (fields.length === 0) comparison.same.push(object)
      else comparison.different.push({ object, fields })
    }
  }
  return comparison
}

function nameOf({ kind, metadata }: Observed): string {
  return `${kind} ${metadata.name}`
}

type Fields = Record<string, unknown>

/** What somebody decided about an object. */
function essenceOf(object: Observed, all: readonly Observed[]): Fields {
  const { metadata, status: _, ...others } = object
  const ownOnes = ownFields[object.kind]?.(others) ?? others
  return {
    ...ownOnes,
    metadata: {
      labels: without(metadata.labels, name => name.startsWith('velero.io/')),
      annotations: without(metadata.annotations, isOfCluster),
      owners: metadata.ownerReferences?.map(({ uid, kind, name }) => {
        const owner = all.find(each => each.metadata.uid === uid)
        return owner === undefined ? `${kind} ${name}, which is not there` : nameOf(owner)
      }),
    },
  }
}

/** Written by the scheduler and by those who bind volumes. */
function isOfCluster(annotation: string): boolean {
  return /^(?:pv\.kubernetes\.io|volume(?:\.beta)?\.kubernetes\.io)\//.test(annotation)
}

/** By kind: an object's fields without those that the cluster gives out. */
const ownFields: Record<string, (object: Fields) => Fields> = {
  Service: object =>
    withSpec(object, ({ clusterIP, clusterIPs: _, ...spec }) => ({
      ...spec,
      headless: clusterIP === 'None',
    })),
  PersistentVolumeClaim: object => withSpec(object, ({ volumeName: _, ...spec }) => spec),
  Pod: object => withSpec(object, withoutNodeAndToken),
}

function withSpec(object: Fields, change: (spec: Fields) => Fields): Fields {
  return { ...object, spec: change((object.spec ?? {}) as Fields) }
}

/** The volume with the token of the service account has a new name in every pod. */
function withoutNodeAndToken({ nodeName: _, ...spec }: Fields): Fields {
  const isToken = ({ name }: Named) => name.startsWith('kube-api-access-')
  const containers = (spec.containers as { volumeMounts?: Named[] }[]).map(container => ({
    ...container,
    volumeMounts: container.volumeMounts?.filter(mount => !isToken(mount)),
  }))
  const initContainers = (spec.initContainers as Named[] | undefined)?.filter(
    ({ name }) => name !== restoreWaitNames.container,
  )
  return {
    ...spec,
    containers,
    initContainers: initContainers?.length === 0 ? undefined : initContainers,
    volumes: (spec.volumes as Named[] | undefined)?.filter(
      each => !isToken(each) && !isRestoreWaitState(each),
    ),
  }
}

interface Named {
  name: string
}

/** Undefined when nothing is left. */
function without(map: Record<string, string> = {}, leave: (name: string) => boolean): Fields | undefined {
  const kept = Object.entries(map).filter(([name]) => !leave(name))
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** The paths of fields that differ. */
function differences(one: unknown, other: unknown, path: string): string[] {
  if (Object.is(one, other)) return []
  if (!isFields(one) || !isFields(other) || Array.isArray(one) !== Array.isArray(other)) return [path]
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...keys].flatMap(key => differences(one[key], other[key], path === '' ? key : `${path}.${key}`))
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
