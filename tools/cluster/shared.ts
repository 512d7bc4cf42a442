import { randomBytes } from 'node:crypto'
import { startCluster } from './cluster.ts'
import { ClusterError } from './cluster-error.ts'
import { sharedClusterVariable } from './testing.ts'

/** The clusters that a test run shares, as environment for its test files; or why there are none. */
export type SharedClusters =
  | { skip: false; env: Record<string, string>; stop(): Promise<void> }
  | { skip: string }

/** Starts the cluster that all files of a test run use. It ends with this process, whatever happens to it. */
export async function startSharedCluster(): Promise<SharedClusters> {
  if (process.env.LATEEN_TEST_KUBECONFIG) return { skip: false, env: {}, stop: async () => {} }
  try {
    const cluster = await startCluster(`run-${randomBytes(4).toString('hex')}`, { node: false, s3: true })
    return {
      skip: false,
      env: { [sharedClusterVariable({ node: false })]: cluster.name },
      stop: cluster.stop,
    }
  } catch (error) {
    if (error instanceof ClusterError && error.code === 'CLUSTER_UNAVAILABLE') return { skip: error.message }
    throw error
  }
}
