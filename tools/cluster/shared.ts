import { randomBytes } from 'node:crypto'
import type { ToolName } from '../binaries/catalogue.ts'
import { tools } from '../binaries/tool.ts'
import { ToolError } from '../binaries/tool-error.ts'
import { startCluster } from './cluster.ts'
import { ClusterError } from './cluster-error.ts'
import { toolsFor } from './prerequisites.ts'
import { sharedClusterVariable, sharedNodeVariable } from './testing.ts'

/** The cluster that a test run shares, as environment for its test files; or why there is none. */
export type SharedCluster = { env: Record<string, string>; stop(): Promise<void> } | { skip: string }

/** Programs that test files run beside their clusters. Brought before the first test, where progress can be seen. */
const companions: readonly ToolName[] = ['velero', 'kopia', 'restic', 'csi-sanity']

/**
 * Brings all programs and starts the clusters that the files of a test run use: one without a node, and one with a node and the test CSI driver that is
 * still starting when this resolves. They end with this process, whatever happens to it.
 */
export async function startSharedCluster(): Promise<SharedCluster> {
  if (process.env.LATEEN_TEST_KUBECONFIG) return { env: {}, stop: async () => {} }
  try {
    await tools([...toolsFor({ node: true, s3: true, csi: true }), ...companions])
    const name = `run-${randomBytes(4).toString('hex')}`
    const cluster = await startCluster(name, { node: false, s3: true })
    const withNode = `${name}-node`
    const starting = startCluster(withNode, { node: true, s3: true, csi: true }).catch((error: unknown) =>
      console.error(error),
    )
    const stop = async () => {
      await Promise.all([cluster.stop(), starting.then(started => started?.stop())])
    }
    return { env: { [sharedClusterVariable]: name, [sharedNodeVariable]: withNode }, stop }
  } catch (error) {
    const unavailable = error instanceof ClusterError && error.code === 'CLUSTER_UNAVAILABLE'
    if (unavailable || error instanceof ToolError) return { skip: error.message }
    throw error
  }
}
