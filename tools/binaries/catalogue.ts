/**
 * Every program that tests and benches run beside Lateen: where it comes from, at which version.
 * Go programs are built from a module below `tools/go`, which pins them with its own go.sum.
 */

/** A program compiled from the Go module proxy. */
export interface GoTool {
  readonly from: 'go'
  /** Folder below `tools/go` whose go.mod requires the program. */
  readonly module: string
  readonly package: string
  readonly version: string
  /** Values set in the binary by the linker, `package.variable` to text. */
  readonly variables?: Readonly<Record<string, string>>
  readonly tags?: string
}

/** A program from a Debian package. */
export interface DebianTool {
  readonly from: 'debian'
  readonly package: string
  /** Where the package puts it. */
  readonly path: string
}

/** A program from a Debian package that is unpacked into the cache and not installed: it would start a service. */
export interface UnpackedTool {
  readonly from: 'debian-unpacked'
  readonly package: string
  /** Where it is in the package, without the leading slash. */
  readonly path: string
}

export type Tool = GoTool | DebianTool | UnpackedTool

const kubernetesVersion = 'v1.34.4'

function kubernetes(program: string): GoTool {
  return {
    from: 'go',
    module: 'kubernetes',
    package: `k8s.io/kubernetes/cmd/${program}`,
    version: kubernetesVersion,
    // Unset, clients see v0.0.0 and refuse to compare versions.
    variables: {
      'k8s.io/component-base/version.gitVersion': kubernetesVersion,
      'k8s.io/component-base/version.gitMajor': '1',
      'k8s.io/component-base/version.gitMinor': '34',
    },
  }
}

function debian(packageName: string, path: string): DebianTool {
  return { from: 'debian', package: packageName, path }
}

const veleroVersion = 'v1.18.3'

export const catalogue = {
  'kube-apiserver': kubernetes('kube-apiserver'),
  'kube-controller-manager': kubernetes('kube-controller-manager'),
  'kube-scheduler': kubernetes('kube-scheduler'),
  kubelet: kubernetes('kubelet'),
  'kube-proxy': kubernetes('kube-proxy'),
  kubectl: kubernetes('kubectl'),
  versitygw: {
    from: 'go',
    module: 'versitygw',
    package: 'github.com/versity/versitygw/cmd/versitygw',
    version: 'v1.8.0',
  },
  'local-path-provisioner': {
    from: 'go',
    module: 'local-path-provisioner',
    package: 'github.com/rancher/local-path-provisioner',
    version: 'v0.0.30',
  },
  velero: {
    from: 'go',
    module: 'velero',
    package: 'github.com/vmware-tanzu/velero/cmd/velero',
    version: veleroVersion,
    // The CLI takes an empty server version for "no answer".
    variables: { 'github.com/vmware-tanzu/velero/pkg/buildinfo.Version': veleroVersion },
  },
  'velero-restore-helper': {
    from: 'go',
    module: 'velero',
    package: 'github.com/vmware-tanzu/velero/cmd/velero-restore-helper',
    version: veleroVersion,
  },
  'velero-plugin-for-aws': {
    from: 'go',
    module: 'velero-plugin-for-aws',
    package: 'github.com/vmware-tanzu/velero-plugin-for-aws/velero-plugin-for-aws',
    version: 'v1.14.3',
  },
  // Its sources are here: a change of theirs needs another version.
  'cron-times': { from: 'go', module: 'cron-times', package: '.', version: 'v1' },
  kopia: {
    from: 'go',
    module: 'kopia',
    package: 'github.com/kopia/kopia',
    version: 'v0.22.3',
    tags: 'nohtmlui',
  },
  'snapshot-controller': {
    from: 'go',
    module: 'external-snapshotter',
    package: 'github.com/kubernetes-csi/external-snapshotter/v8/cmd/snapshot-controller',
    version: 'v8.4.0',
  },
  'csi-snapshotter': {
    from: 'go',
    module: 'external-snapshotter',
    package: 'github.com/kubernetes-csi/external-snapshotter/v8/cmd/csi-snapshotter',
    version: 'v8.4.0',
  },
  'csi-provisioner': {
    from: 'go',
    module: 'external-provisioner',
    package: 'github.com/kubernetes-csi/external-provisioner/v5/cmd/csi-provisioner',
    version: 'v5.3.0',
  },
  'csi-sanity': {
    from: 'go',
    module: 'csi-test',
    package: 'github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity',
    version: 'v5.6.0',
  },
  helm: { from: 'go', module: 'helm', package: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' },
  etcd: debian('etcd-server', '/usr/bin/etcd'),
  containerd: debian('containerd', '/usr/bin/containerd'),
  ctr: debian('containerd', '/usr/bin/ctr'),
  runc: debian('runc', '/usr/sbin/runc'),
  busybox: debian('busybox-static', '/usr/bin/busybox'),
  iptables: debian('iptables', '/usr/sbin/iptables'),
  ip: debian('iproute2', '/usr/sbin/ip'),
  openssl: debian('openssl', '/usr/bin/openssl'),
  zsh: debian('zsh', '/usr/bin/zsh'),
  fish: debian('fish', '/usr/bin/fish'),
  tini: debian('tini', '/usr/bin/tini'),
  'cni-bridge': debian('containernetworking-plugins', '/usr/lib/cni/bridge'),
  restic: debian('restic', '/usr/bin/restic'),
  prometheus: { from: 'debian-unpacked', package: 'prometheus', path: 'usr/bin/prometheus' },
  promtool: { from: 'debian-unpacked', package: 'prometheus', path: 'usr/bin/promtool' },
  protoc: debian('protobuf-compiler', '/usr/bin/protoc'),
} as const satisfies Record<string, Tool>

/** A program that `tool()` can bring. */
export type ToolName = keyof typeof catalogue
