import { tools } from '../binaries/tool.ts'
import { addressesOf, type ClusterPlan, filesOf } from './cluster-layout.ts'
import type { ComponentPlan } from './component.ts'

/** etcd, API server, controller manager and scheduler as command lines. */
export async function controlPlane(plan: ClusterPlan): Promise<ComponentPlan[]> {
  const paths = await tools(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
  return [
    { name: 'etcd', command: paths.etcd, args: flags(etcd(plan)) },
    { name: 'kube-apiserver', command: paths['kube-apiserver'], args: flags(apiServer(plan)) },
    {
      name: 'kube-controller-manager',
      command: paths['kube-controller-manager'],
      args: flags(controllerManager(plan)),
    },
    { name: 'kube-scheduler', command: paths['kube-scheduler'], args: flags(scheduler(plan)) },
  ]
}

type Flags = Record<string, string | number | boolean>

/** `{ a: 1 }` as `--a=1`. */
export function flags(values: Flags): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`)
}

function etcd(plan: ClusterPlan): Flags {
  const files = filesOf(plan)
  const clientUrl = `https://127.0.0.1:${plan.ports.etcd}`
  const peerUrl = `https://127.0.0.1:${plan.ports.etcdPeer}`
  const tls = (prefix: string): Flags => ({
    [`${prefix}cert-file`]: files.pki('etcd.crt'),
    [`${prefix}key-file`]: files.pki('etcd.key'),
    [`${prefix}trusted-ca-file`]: files.pki('ca.crt'),
    [`${prefix}client-cert-auth`]: true,
  })
  return {
    name: 'etcd',
    'data-dir': files.data('etcd'),
    'listen-client-urls': clientUrl,
    'advertise-client-urls': clientUrl,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `etcd=${peerUrl}`,
    // A killed process loses nothing without fsync, only a crashed machine does.
    'unsafe-no-fsync': true,
    'quota-backend-bytes': 4 * 1024 ** 3,
    ...tls(''),
    ...tls('peer-'),
  }
}

function apiServer(plan: ClusterPlan): Flags {
  const files = filesOf(plan)
  const addresses = addressesOf(plan)
  return {
    'etcd-servers': `https://127.0.0.1:${plan.ports.etcd}`,
    'etcd-cafile': files.pki('ca.crt'),
    'etcd-certfile': files.pki('etcd.crt'),
    'etcd-keyfile': files.pki('etcd.key'),
    ...(plan.node
      ? { 'bind-address': '0.0.0.0', 'advertise-address': addresses.host }
      : {
          'bind-address': '127.0.0.1',
          'advertise-address': '127.0.0.1',
          'endpoint-reconciler-type': 'none',
        }),
    'secure-port': plan.ports.apiServer,
    'tls-cert-file': files.pki('apiserver.crt'),
    'tls-private-key-file': files.pki('apiserver.key'),
    'client-ca-file': files.pki('ca.crt'),
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': files.pki('sa.pub'),
    'service-account-signing-key-file': files.pki('sa.key'),
    'service-cluster-ip-range': addresses.serviceSubnet,
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'allow-privileged': true,
    'kubelet-client-certificate': files.pki('apiserver-client.crt'),
    'kubelet-client-key': files.pki('apiserver-client.key'),
    'kubelet-certificate-authority': files.pki('ca.crt'),
    'kubelet-preferred-address-types': 'InternalIP',
    'shutdown-delay-duration': '0s',
    profiling: false,
  }
}

function controllerManager(plan: ClusterPlan): Flags {
  const files = filesOf(plan)
  return {
    ...leaderless(plan, 'kube-controller-manager'),
    'secure-port': plan.ports.controllerManager,
    'use-service-account-credentials': true,
    'service-account-private-key-file': files.pki('sa.key'),
    'root-ca-file': files.pki('ca.crt'),
    'cluster-signing-cert-file': files.pki('ca.crt'),
    'cluster-signing-key-file': files.pki('ca.key'),
    ...haste,
    profiling: false,
  }
}

function scheduler(plan: ClusterPlan): Flags {
  const port = { 'secure-port': plan.ports.scheduler }
  return { ...leaderless(plan, 'kube-scheduler'), ...port, ...haste, profiling: false }
}

// Both hold their requests back by default, the controller manager for four seconds of a cluster's start.
const haste: Flags = { 'kube-api-qps': 500, 'kube-api-burst': 1000 }

/** A single copy needs no election; it would only delay the start after a kill. */
function leaderless(plan: ClusterPlan, component: string): Flags {
  const kubeconfig = filesOf(plan).kubeconfigOf(component)
  return {
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'leader-elect': false,
    'bind-address': '127.0.0.1',
  }
}
