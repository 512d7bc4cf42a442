import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { after, it } from 'node:test'
import { skipVariable } from '../test/shared-cluster.ts'
import { type Cluster, openCluster, openOnceReady, startCluster } from './cluster.ts'
import { ClusterError } from './cluster-error.ts'
import { externalCluster } from './external-cluster.ts'

/** What a test file needs. */
export interface TestNeeds {
  node?: boolean
  s3?: boolean
  /** The test CSI driver, with snapshots. */
  csi?: boolean
  /** A cluster for this file alone, whose components it may kill. */
  own?: boolean
}

/** A cluster, or the reason why the tests that need one are skipped. */
export interface Given {
  readonly skip: false | string
  /** Throws the reason when there is none. */
  readonly cluster: Cluster
}

/**
 * The cluster a test file runs against: one that the test run shares, with a node or without, or one of its own that ends with the
 * file where it kills parts, or runs alone. Where this machine cannot have one, tests are to be skipped with the reason given, never passed.
 */
export async function givenCluster(needs: TestNeeds = {}): Promise<Given> {
  try {
    const cluster = await clusterFor(needs)
    return { skip: false, cluster }
  } catch (error) {
    if (!(error instanceof ClusterError) || error.code !== 'CLUSTER_UNAVAILABLE') throw error
    reportSkipped(error.message)
    return {
      skip: error.message,
      get cluster(): Cluster {
        throw error
      },
    }
  }
}

async function clusterFor(needs: TestNeeds): Promise<Cluster> {
  const external = externalCluster(needs)
  if (external) return external
  const reason = process.env[skipVariable]
  if (reason) throw new ClusterError('CLUSTER_UNAVAILABLE', reason, { hint: 'Told by the test run' })
  const shared = process.env[needs.node ? sharedNodeVariable : sharedClusterVariable]
  if (shared && !needs.own) {
    const cluster = needs.node ? await openOnceReady(shared) : await openCluster(shared)
    if (cluster.plan.csi || !needs.csi) return cluster
  }
  const name = `test-${randomBytes(4).toString('hex')}`
  const cluster = await startCluster(name, {
    node: needs.node ?? false,
    s3: needs.s3 ?? false,
    csi: needs.csi ?? false,
  })
  after(() => cluster.stop())
  return cluster
}

/** The environment variable that names the cluster, with S3 and without a node, that a test run shares. */
export const sharedClusterVariable = 'LATEEN_SHARED_CLUSTER'

/** The environment variable that names the cluster, with S3, a node and the test CSI driver, that a test run shares. It may still be starting. */
export const sharedNodeVariable = 'LATEEN_SHARED_NODE_CLUSTER'

/** Node's summary does not count suites that are skipped; this makes each such file show up in it. */
export function reportSkipped(reason: string): void {
  it(`${path.basename(process.argv[1] ?? 'this file')} needs what is not there`, { skip: reason }, () => {})
}
