import type { Cluster } from './cluster.ts'
import { untilSeen } from './wait-until.ts'

/** What somebody may want to do, as access reviews name it. Without a namespace: in all of them. */
export interface Wish {
  readonly verb: string
  /** Empty for the core group. */
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
}

/** Whether the API server would let a user do something now. Asked as the administrator, for users may not even be allowed to ask. */
export async function isAllowed(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  user: string,
  resourceAttributes: Wish,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, resourceAttributes },
  }
  const args = ['create', '-f', '-', '-o', 'jsonpath={.status.allowed}']
  return (await kubectl(args, { stdin: JSON.stringify(review) })) === 'true'
}

/** Waits until the API server knows that a user may do something: it hears of roles and bindings a moment after they are made. */
export async function untilAllowed(
  cluster: Pick<Cluster, 'kubectl'>,
  user: string,
  wish: Wish,
): Promise<void> {
  await untilSeen(`that ${user} may do ${JSON.stringify(wish)}`, () => isAllowed(cluster, user, wish))
}
