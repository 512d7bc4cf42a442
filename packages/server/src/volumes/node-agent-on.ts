import { builtInKind, type KubeClient, type KubeObject } from '@lateen/kube'

interface AgentPod extends KubeObject {
  spec?: { nodeName?: string }
  status?: { phase?: string }
}

/** The DaemonSets of node agents. */
export const nodeAgentNames = ['node-agent', 'node-agent-windows'] as const

const PodKind = builtInKind<AgentPod>('Pod')

/** Why no node agent can do anything on a node; undefined when one can. Throws KubeErrors. */
export async function noNodeAgentOn(
  node: string,
  { client, namespace, signal }: { client: KubeClient; namespace: string; signal: AbortSignal },
): Promise<string | undefined> {
  let count = 0
  const pods = client.resource(PodKind, namespace).list({ labelSelector: 'role=node-agent', signal })
  for await (const { spec, status } of pods) {
    count += 1
    if (spec?.nodeName === node && status?.phase === 'Running') return undefined
  }
  return count === 0
    ? `daemonset pod not found in running state in node ${node}: there is no node agent at all; install it with --use-node-agent`
    : `daemonset pod not found in running state in node ${node}`
}
