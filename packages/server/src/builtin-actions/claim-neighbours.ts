import { builtInKind, type KubeClient, type KubeObject } from '@lateen/kube'
import type { ResourceIdentifier } from '@lateen/plugin'

/** A claim by where it is. */
export interface ClaimName {
  namespace: string
  name: string
}

/** A group of claims: those with this value of this label. */
export interface ClaimGroup {
  label: string
  group: string
}

export type PodsToFind = 'running' | 'all'

/** What stands next to a claim in its namespace. Each namespace is listed once. */
export interface ClaimNeighbours {
  /**
   * The pods that mount a claim, those that run, or all that are there. Throws KubeError.
   */
  podsMounting(claim: ClaimName, which: PodsToFind, signal?: AbortSignal): Promise<ResourceIdentifier[]>
  /** The other claims of its group. Throws KubeError. */
  claimsOfGroup(claim: ClaimName, group: ClaimGroup, signal?: AbortSignal): Promise<ResourceIdentifier[]>
}

interface Pod extends KubeObject {
  spec?: { nodeName?: string; volumes?: { persistentVolumeClaim?: { claimName?: string } | null }[] | null }
  status?: { phase?: string }
}

const podType = builtInKind<Pod>('Pod')
const claimType = builtInKind('PersistentVolumeClaim')

type Names = ReadonlyMap<string, readonly string[]>

export function createClaimNeighbours(client: KubeClient): ClaimNeighbours {
  const podsByClaim = new Map<string, Promise<Names>>()
  const claimsByGroup = new Map<string, Promise<Names>>()

  return {
    async podsMounting({ namespace, name }, which, signal) {
      const query = { namespace, which, signal }
      const pods = await once(podsByClaim, `${which} ${namespace}`, () => listMounts(client, query))
      return (pods.get(name) ?? []).map(pod => ({ group: '', resource: 'pods', namespace, name: pod }))
    },
    async claimsOfGroup({ namespace, name }, { label, group }, signal) {
      const groups = await once(claimsByGroup, `${namespace}/${label}`, () =>
        listGroups(client, { namespace, label, signal }),
      )
      return (groups.get(group) ?? [])
        .filter(claim => claim !== name)
        .map(claim => ({ group: '', resource: 'persistentvolumeclaims', namespace, name: claim }))
    },
  }
}

interface MountQuery {
  namespace: string
  which: PodsToFind
  signal: AbortSignal | undefined
}

async function listMounts(client: KubeClient, { namespace, which, signal }: MountQuery): Promise<Names> {
  const names = new Map<string, string[]>()
  for await (const pod of client.resource(podType, namespace).list({ signal })) {
    if (which === 'running' && !isRunning(pod)) continue
    if (pod.metadata.deletionTimestamp !== undefined) continue
    for (const { persistentVolumeClaim } of pod.spec?.volumes ?? []) {
      const claim = persistentVolumeClaim?.claimName
      if (claim) append(names, claim, pod.metadata.name ?? '')
    }
  }
  return names
}

interface GroupQuery {
  namespace: string
  label: string
  signal: AbortSignal | undefined
}

async function listGroups(client: KubeClient, { namespace, label, signal }: GroupQuery): Promise<Names> {
  const names = new Map<string, string[]>()
  const claims = client.resource(claimType, namespace).list({ labelSelector: label, signal })
  for await (const { metadata } of claims) append(names, metadata.labels?.[label] ?? '', metadata.name ?? '')
  return names
}

function isRunning({ spec, status }: Pod): boolean {
  return Boolean(spec?.nodeName) && status?.phase === 'Running'
}

function append(names: Map<string, string[]>, key: string, name: string): void {
  const list = names.get(key)
  if (list === undefined) names.set(key, [name])
  else if (!list.includes(name)) list.push(name)
}

// A list that failed is kept like any other: the client has repeated it already, and the next claim would wait as long.
async function once<T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  let reading = known.get(key)
  if (reading === undefined) {
    reading = read()
    known.set(key, reading)
  }
  return reading
}
