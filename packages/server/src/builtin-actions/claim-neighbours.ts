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

/** What stands next to a claim in its namespace. Each namespace is listed once. */
export interface ClaimNeighbours {
  /**
   * The pods that mount a claim, also those that have ended: in a block of its own, such a pod would have the claim stored while the hooks of
   * another one still run. Throws KubeError.
   */
  podsMounting(claim: ClaimName, signal?: AbortSignal): Promise<ResourceIdentifier[]>
  /** The other claims of its group. Throws KubeError. */
  claimsOfGroup(claim: ClaimName, group: ClaimGroup, signal?: AbortSignal): Promise<ResourceIdentifier[]>
}

interface Pod extends KubeObject {
  spec?: { volumes?: { persistentVolumeClaim?: { claimName?: string } | null }[] | null }
}

const podType = builtInKind<Pod>('Pod')
const claimType = builtInKind('PersistentVolumeClaim')

type Names = ReadonlyMap<string, readonly string[]>

export function createClaimNeighbours(client: KubeClient): ClaimNeighbours {
  const podsByClaim = new Map<string, Promise<Names>>()
  const claimsByGroup = new Map<string, Promise<Names>>()

  return {
    async podsMounting({ namespace, name }, signal) {
      const pods = await once(podsByClaim, namespace, () => listMounts(client, namespace, signal))
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

async function listMounts(client: KubeClient, namespace: string, signal?: AbortSignal): Promise<Names> {
  const names = new Map<string, string[]>()
  for await (const pod of client.resource(podType, namespace).list({ signal })) {
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
