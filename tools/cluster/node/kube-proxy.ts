import { writeFile } from 'node:fs/promises'
import { tools } from '../../binaries/tool.ts'
import { addressesOf, type ClusterPlan, filesOf, nodeName } from '../cluster-layout.ts'
import type { ComponentPlan } from '../component.ts'

/** Writes kube-proxy's configuration and returns the command line. */
export async function kubeProxy(plan: ClusterPlan): Promise<ComponentPlan> {
  const paths = await tools(['kube-proxy', 'iptables'])
  const files = filesOf(plan)
  const config = files.data('kube-proxy-config.json')
  await writeFile(config, JSON.stringify(kubeProxyConfiguration(plan), null, 2))
  return { name: 'kube-proxy', command: paths['kube-proxy'], args: [`--config=${config}`] }
}

function kubeProxyConfiguration(plan: ClusterPlan) {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    hostnameOverride: nodeName,
    clientConnection: { kubeconfig: filesOf(plan).kubeconfigOf('kube-proxy') },
    clusterCIDR: addressesOf(plan).podSubnet,
    // Pods on one bridge would answer each other past the address translation.
    iptables: { masqueradeAll: true },
    // These limits belong to the whole machine and are not the node's to set.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  }
}
