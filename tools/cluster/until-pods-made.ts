import type { Cluster } from './cluster.ts'
import { waitUntil } from './wait-until.ts'

/**
 * Makes pods whose priority class, or whose namespace's default account, has only just come: the API server refuses pods until it has
 * heard of both.
 */
export async function untilPodsMade(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  pods: readonly object[],
): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods })
  let refusal: unknown
  const areMade = () =>
    kubectl(['apply', '--server-side', '-f', '-'], { stdin }).then(
      () => true,
      error => {
        refusal = error
        return false
      },
    )
  const failure = () => new Error('pods are refused', { cause: refusal })
  await waitUntil(areMade, { timeoutMs: 120_000, failure })
}
