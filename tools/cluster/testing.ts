import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { type Cluster, openCluster, startCluster } from './cluster.ts'
import { ClusterError } from './cluster-error.ts'
import { externalCluster } from './external-cluster.ts'

/** What a test file needs. */
export interface TestNeeds {
  node?: boolean
  s3?: boolean
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
 * The cluster a test file runs against: the one that the test run shares, or one of its own that ends with the
 * file. Where this machine cannot have one, tests are to be skipped with the reason given, never passed.
 */
export async function givenCluster(needs: TestNeeds = {}): Promise<Given> {
  try {
    const cluster = await clusterFor(needs)
    return { skip: false, cluster }
  } catch (error) {
    if (!(error instanceof ClusterError) || error.code !== 'CLUSTER_UNAVAILABLE') throw error
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
  const shared = process.env[sharedClusterVariable({ node: needs.node ?? false })]
  if (shared && !needs.own) return openCluster(shared)
  const name = `test-${randomBytes(4).toString('hex')}`
  const cluster = await startCluster(name, { node: needs.node ?? false, s3: needs.s3 ?? false })
  after(() => cluster.stop())
  return cluster
}

/** The environment variable that names the cluster shared by all files of a test run. */
export function sharedClusterVariable(kind: { node: boolean }): string {
  return kind.node ? 'LATEEN_SHARED_NODE_CLUSTER' : 'LATEEN_SHARED_CLUSTER'
}
