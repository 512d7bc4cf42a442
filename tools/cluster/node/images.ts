import type { ClusterPlan } from '../cluster-layout.ts'
import { containerdSocket } from './containerd.ts'
import { joinNamespaces, type NodeNamespaces } from './namespaces.ts'

/** Makes an image archive known to the node's kubelet. */
export async function importImage(namespaces: NodeNamespaces, archive: string): Promise<void> {
  await namespaces.run('ctr', ['--address', containerdSocket, '-n', 'k8s.io', 'images', 'import', archive])
}

export async function workloadImage(): Promise<string> {
  return '/tmp/busybox.tar'
}

/** Makes an image archive known to the node of a running cluster. */
export async function loadImage(plan: ClusterPlan, archive: string): Promise<void> {
  await importImage(await joinNamespaces(plan), archive)
}
