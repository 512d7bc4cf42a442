import type { KubeObject, PortForward, ResourceType } from '@lateen/kube'
import type { DownloadPorts } from './download-ports.ts'

/** Links that our server answers itself. Velero makes none of this form. */
const ownLink = /^\/download\/[\w-]+\/[^/?]+\?signature=[0-9a-f]{64}$/

const serverSelector = 'deploy in (velero,lateen)'
const defaultPort = 8085

interface Pod extends KubeObject {
  spec?: {
    containers?: {
      name?: string
      ports?: { name?: string; containerPort?: number }[]
    }[]
  }
  status?: { phase?: string }
}

const PodKind: ResourceType<Pod> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
}

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
  const pod = pods.find(each => each.status?.phase === 'Running' && !each.metadata.deletionTimestamp)
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

/** The server serves downloads where it serves metrics. */
function downloadPortOf({ spec }: Pod): number {
  const ports = (spec?.containers ?? []).flatMap(container => container.ports ?? [])
  return ports.find(port => port.name === 'metrics')?.containerPort ?? defaultPort
}
