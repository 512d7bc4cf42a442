import path from 'node:path'

/** What a cluster is made of beside its control plane. */
export interface ClusterNeeds {
  /** A kubelet with containerd, so that pods run. */
  node: boolean
  /** An S3 server with a bucket. */
  s3: boolean
  /** The test CSI driver on the node, with snapshots; needs a node. */
  csi?: boolean
}

/** The numbers that keep clusters on one machine apart. */
export interface ClusterPorts {
  etcd: number
  etcdPeer: number
  apiServer: number
  controllerManager: number
  scheduler: number
  s3: number
}

/** Everything that is decided about a cluster before its first process starts. Kept in `cluster.json`. */
export interface ClusterPlan extends ClusterNeeds {
  name: string
  folder: string
  /** Tells this cluster's subnets and links from its neighbours'. */
  index: number
  ports: ClusterPorts
}

/** Addresses follow from the index, so that two clusters never share one. */
export interface ClusterAddresses {
  /** The machine's end of the link to the node; pods and host reach the control plane and S3 there. */
  host: string
  node: string
  podSubnet: string
  serviceSubnet: string
  apiService: string
}

/** Where clusters live: `$LATEEN_CLUSTERS`, else below `/var/tmp`, which is a disk even where `/tmp` is memory. */
export function clustersFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.LATEEN_CLUSTERS ?? `/var/tmp/lateen-${process.getuid?.() ?? 0}`
}

export function clusterFolder(name: string): string {
  return path.join(clustersFolder(), name)
}

export function addressesOf(plan: { index: number }): ClusterAddresses {
  return {
    host: `10.213.${plan.index}.1`,
    node: `10.213.${plan.index}.2`,
    podSubnet: `10.214.${plan.index}.0/24`,
    serviceSubnet: `10.215.${plan.index}.0/24`,
    apiService: `10.215.${plan.index}.1`,
  }
}

/**
 * Ports follow from the index, too. They lie below the range from which the kernel gives ports to connections: one taken from there
 * may be gone before the program that it was meant for listens.
 */
export function portsOf(index: number): ClusterPorts {
  const first = 20_000 + index * 10
  return {
    etcd: first,
    etcdPeer: first + 1,
    apiServer: first + 2,
    controllerManager: first + 3,
    scheduler: first + 4,
    s3: first + 5,
  }
}

/** The machine's end of the link to the node. Interface names hold 15 characters. */
export function linkName(plan: { index: number }): string {
  return `lateen${plan.index}`
}

export const nodeName = 'node-1'

/** The address the control plane and the S3 server are reached at by everything that belongs to the cluster. */
export function reachableAddress(plan: ClusterPlan): string {
  return plan.node ? addressesOf(plan).host : '127.0.0.1'
}

/** Files of a cluster, by name. */
export function filesOf(plan: { folder: string }) {
  const at = (...parts: string[]) => path.join(plan.folder, ...parts)
  return {
    state: at('cluster.json'),
    control: at('control.sock'),
    /** Holds the process that keeps the node's namespaces. */
    nodePid: at('node.pid'),
    kubeconfig: at('kubeconfig'),
    supervisorLog: at('logs', 'supervisor.log'),
    log: (component: string) => at('logs', `${component}.log`),
    pki: (file: string) => at('pki', file),
    kubeconfigOf: (user: string) => at('users', `${user}.kubeconfig`),
    data: (component: string) => at(component),
  }
}
