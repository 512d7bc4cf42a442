import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { tools } from '../../binaries/tool.ts'
import { cgroupHierarchies, cgroupName } from '../cgroups.ts'
import { addressesOf, type ClusterPlan, filesOf, nodeName } from '../cluster-layout.ts'
import type { ComponentPlan } from '../component.ts'
import { flags } from '../control-plane.ts'
import { containerdSocket } from './containerd.ts'

/** Writes the kubelet's configuration, makes its control groups and returns the command line. */
export async function kubelet(plan: ClusterPlan): Promise<ComponentPlan> {
  const { kubelet: command } = await tools(['kubelet'])
  const files = filesOf(plan)
  const config = files.data('kubelet-config.json')
  await createCgroups(plan.name)
  await writeFile(config, JSON.stringify(kubeletConfiguration(plan), null, 2))
  return {
    name: 'kubelet',
    command,
    args: flags({
      config,
      kubeconfig: files.kubeconfigOf('kubelet'),
      'hostname-override': nodeName,
      'node-ip': addressesOf(plan).node,
      'root-dir': '/var/lib/kubelet',
      'cert-dir': '/var/lib/kubelet/pki',
    }),
  }
}

function kubeletConfiguration(plan: ClusterPlan) {
  const files = filesOf(plan)
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: files.pki('ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: files.pki('kubelet.crt'),
    tlsPrivateKeyFile: files.pki('kubelet.key'),
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroupName(plan.name)}`,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    resolvConf: '',
    // A test node lives on whatever disk is left; it must not evict pods or delete its only images.
    evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    localStorageCapacityIsolation: false,
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    // Not where all have theirs: a kubelet removes the logs of pods that it does not know, which are those of the clusters beside it.
    podLogsDir: '/var/lib/kubelet/pod-logs',
    syncFrequency: '10s',
  }
}

/** On cgroup v1 a new cpuset is empty, and no process may enter an empty one: it takes its parent's values. */
async function createCgroups(clusterName: string): Promise<void> {
  for (const hierarchy of await cgroupHierarchies()) {
    const folder = path.join(hierarchy, cgroupName(clusterName))
    const made = await mkdir(folder, { recursive: true }).then(
      () => true,
      () => false,
    )
    if (!made) continue
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      const value = await readFile(path.join(hierarchy, file), 'utf8').catch(() => undefined)
      if (value !== undefined && hierarchy.endsWith('cpuset')) await writeFile(path.join(folder, file), value)
    }
  }
}
