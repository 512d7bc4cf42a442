import { runCommand } from '../binaries/run-command.ts'
import { tool } from '../binaries/tool.ts'
import type { Cluster } from './cluster.ts'
import { ClusterError } from './cluster-error.ts'

/** The disposable cluster that `LATEEN_TEST_KUBECONFIG` points to, if that is set. */
export function externalCluster(
  needs: { s3?: boolean; csi?: boolean; own?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): Cluster | undefined {
  const kubeconfigPath = env.LATEEN_TEST_KUBECONFIG
  if (!kubeconfigPath) return undefined
  if (needs.own)
    throw missing('this test kills parts of its cluster, and LATEEN_TEST_KUBECONFIG names a foreign one')
  if (needs.csi)
    throw missing('this test needs the test CSI driver, and LATEEN_TEST_KUBECONFIG names a foreign cluster')
  if (needs.s3 && !env.LATEEN_TEST_S3_ENDPOINT)
    throw missing('this test needs S3, and LATEEN_TEST_S3_ENDPOINT is not set')
  const foreign = () => {
    throw missing('a foreign cluster has no such part')
  }
  return {
    name: 'external',
    kubeconfigPath,
    get plan() {
      return foreign()
    },
    get csi() {
      return foreign()
    },
    get etcd() {
      return foreign()
    },
    s3: {
      endpoint: env.LATEEN_TEST_S3_ENDPOINT ?? '',
      region: env.AWS_REGION ?? 'us-east-1',
      accessKeyId: env.AWS_ACCESS_KEY_ID ?? '',
      secretAccessKey: env.AWS_SECRET_ACCESS_KEY ?? '',
      bucket: env.LATEEN_TEST_S3_BUCKET ?? 'lateen',
    },
    kubectl: async (args, options = {}) =>
      runCommand(await tool('kubectl'), ['--kubeconfig', kubeconfigPath, ...args], options),
    kubeconfigFor: foreign,
    deliverImage: foreign,
    kill: foreign,
    start: foreign,
  }
}

function missing(message: string): ClusterError {
  return new ClusterError('CLUSTER_UNAVAILABLE', message, {
    hint: 'Unset LATEEN_TEST_KUBECONFIG to run it on a cluster made here',
  })
}
