import type { ToolName } from '../binaries/catalogue.ts'
import { tools } from '../binaries/tool.ts'
import { ToolError } from '../binaries/tool-error.ts'
import { ClusterError } from './cluster-error.ts'
import type { ClusterNeeds } from './cluster-layout.ts'
import { snapshotCrds } from './csi/snapshot-crds.ts'

const elsewhere = 'Or set LATEEN_TEST_KUBECONFIG to the kubeconfig of a disposable cluster'

/** What decides whether a cluster can be made here at all. */
export interface Machine {
  platform: NodeJS.Platform
  userId: number | undefined
}

/** Brings the programs a cluster needs. Throws CLUSTER_UNAVAILABLE that says what this machine lacks. */
export async function checkPrerequisites(
  needs: ClusterNeeds,
  machine: Machine = { platform: process.platform, userId: process.getuid?.() },
): Promise<void> {
  if (machine.platform !== 'linux') {
    throw unavailable(`a test cluster needs Linux, and this is ${machine.platform}`)
  }
  if (needs.node && machine.userId !== 0) {
    throw unavailable('a cluster with a node needs root, for namespaces, mounts and control groups')
  }
  if (needs.csi && !needs.node) {
    throw new ClusterError('CLUSTER_FAILED', 'the test CSI driver runs on a node, and none is asked for', {
      hint: 'Ask for both: npm run cluster -- up --node --csi',
    })
  }
  try {
    await tools(toolsFor(needs))
    if (needs.csi) await snapshotCrds()
  } catch (error) {
    if (error instanceof ToolError) throw unavailable(error.message, error)
    throw error
  }
}

/** The programs a cluster is made of. */
export function toolsFor(needs: ClusterNeeds): ToolName[] {
  return [
    'openssl',
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kubectl',
    ...(needs.s3 ? (['versitygw'] as const) : []),
    ...(needs.node ? nodeTools : []),
    ...(needs.csi ? csiTools : []),
  ]
}

const nodeTools = [
  'kubelet',
  'kube-proxy',
  'local-path-provisioner',
  'containerd',
  'runc',
  'ip',
  'iptables',
  'tini',
  'busybox',
  'cni-bridge',
] as const

const csiTools = ['csi-provisioner', 'csi-snapshotter', 'snapshot-controller'] as const

function unavailable(message: string, cause?: unknown): ClusterError {
  return new ClusterError('CLUSTER_UNAVAILABLE', message, { hint: elsewhere, cause })
}
