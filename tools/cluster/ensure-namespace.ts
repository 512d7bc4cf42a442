import type { Cluster } from './cluster.ts'

/**
 * Makes a namespace that pods can be created in, or leaves the one that is there. Safe for several callers at once: the API server decides,
 * where `kubectl apply` asks first and then creates. Pods are refused until the controller manager has made the namespace's default account.
 */
export async function ensureNamespace({ kubectl }: Pick<Cluster, 'kubectl'>, name: string): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await kubectl(['apply', '--server-side', '-f', '-'], { stdin })
  await kubectl(['wait', '-n', name, '--for=create', 'serviceaccount/default', '--timeout=120s'])
}
