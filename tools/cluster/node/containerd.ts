import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { tools } from '../../binaries/tool.ts'
import { busyboxImageName } from '../../image/busybox-image.ts'
import { addressesOf, type ClusterPlan, filesOf } from '../cluster-layout.ts'
import type { ComponentPlan } from '../component.ts'

export const containerdSocket = '/run/containerd/containerd.sock'

/** The image that holds a pod's namespaces open; imported, never pulled. */
export const sandboxImage = busyboxImageName

/** Writes containerd's and CNI's configuration and returns the command line. */
export async function containerd(plan: ClusterPlan): Promise<ComponentPlan> {
  const paths = await tools(['containerd', 'cni-bridge'])
  const folder = filesOf(plan).data('containerd-config')
  const cniConfig = path.join(folder, 'cni')
  await mkdir(cniConfig, { recursive: true })
  await writeFile(path.join(cniConfig, '10-bridge.conflist'), JSON.stringify(bridgeNetwork(plan), null, 2))
  const configFile = path.join(folder, 'config.toml')
  await writeFile(configFile, containerdConfig({ cniPlugins: path.dirname(paths['cni-bridge']), cniConfig }))
  return { name: 'containerd', command: paths.containerd, args: ['--config', configFile] }
}

function containerdConfig(folders: { cniPlugins: string; cniConfig: string }): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "${containerdSocket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${sandboxImage}"
  # A machine without CAP_SYS_RESOURCE may not lower oom_score_adj; every sandbox would die of it.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${folders.cniPlugins}"
    conf_dir = "${folders.cniConfig}"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`
}

function bridgeNetwork(plan: ClusterPlan) {
  return {
    cniVersion: '0.4.0',
    name: 'lateen',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: addressesOf(plan).podSubnet }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: '/run/cni-addresses',
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  }
}
