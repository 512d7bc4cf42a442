import { builtInKind, isForbidden, isNotFound, type KubeObject, type PortForward } from '@lateen/kube'
import type { DownloadPorts } from './download-ports.ts'

/** Links that our server answers itself. Velero makes none of this form. */
const ownLink = /^\/download\/[\w-]+\/[^/?]+\?signature=[0-9a-f]{64}$/

const serverSelector = 'deploy in (velero,lateen)'
const defaultPort = 8085
const leaseName = 'lateen-server'

interface Lease extends KubeObject {
  spec?: { holderIdentity?: string }
}

const LeaseKind = builtInKind<Lease>('Lease')

interface Pod extends KubeObject {
  spec?: {
    containers?: {
      name?: string
      ports?: { name?: string; containerPort?: number }[]
    }[]
  }
  status?: { phase?: string }
}

const PodKind = builtInKind<Pod>('Pod')

/** A link that leads through the API server to the pod of our server. Disposing ends the way there. */
export interface ForwardedLink extends AsyncDisposable {
  readonly url: string
}

/**
 * Opens a way to the pod of our server for a link that it answers itself. Undefined for other links, and where no pod of
 * it runs. Throws KubeErrors.
 */
export async function forwardLink(
  link: string,
  { client, namespace, signal }: Pick<DownloadPorts, 'client' | 'namespace' | 'signal'>,
): Promise<ForwardedLink | undefined> {
  const { pathname, search } = new URL(link)
  if (!ownLink.test(`${pathname}${search}`)) return undefined
  const pods = await client
    .resource(PodKind, namespace)
    .list({ labelSelector: serverSelector, signal })
    .toArray()
  const running = pods.filter(each => each.status?.phase === 'Running' && !each.metadata.deletionTimestamp)
  // Only the server that made a link knows its signature, and only the leader makes links.
  const leader = running.length > 1 ? await leadingPod({ client, namespace, signal }) : undefined
  const pod = running.find(each => each.metadata.name === leader) ?? running[0]
  if (pod === undefined) return undefined
  const forward: PortForward = await client.portForward(
    { namespace, name: pod.metadata.name ?? '' },
    { port: downloadPortOf(pod), signal },
  )
  return {
    url: `http://127.0.0.1:${forward.localPort}${pathname}${search}`,
    [Symbol.asyncDispose]: () => forward[Symbol.asyncDispose](),
  }
}

/** The pod of the leader, which it names itself after in its lease; undefined where that cannot be told. */
async function leadingPod({
  client,
  namespace,
  signal,
}: Pick<DownloadPorts, 'client' | 'namespace' | 'signal'>): Promise<string | undefined> {
  try {
    const { spec } = await client.resource(LeaseKind, namespace).get(leaseName, { signal })
    return spec?.holderIdentity?.replace(/_[^_]*$/, '')
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined
    throw error
  }
}

/** The server serves downloads where it serves metrics. */
function downloadPortOf({ spec }: Pod): number {
  const ports = (spec?.containers ?? []).flatMap(container => container.ports ?? [])
  return ports.find(port => port.name === 'metrics')?.containerPort ?? defaultPort
}
