import path from 'node:path/posix'
import { nodeAgentAccount } from './account-objects.ts'
import { filesystemParts } from './filesystem-volume.ts'
import type { InstallOptions } from './install-options.ts'
import { installLabels, installMetadata } from './labels.ts'
import {
  credentialParts,
  fromField,
  metricsPorts,
  programInImage,
  pullPolicyOf,
  seccompDefault,
  temporaryParts,
  windowsAffinity,
} from './pod-parts.ts'

type NodeSystem = 'linux' | 'windows'

const windowsTolerations = ['NoSchedule', 'NoExecute'].map(effect => ({
  key: 'os',
  operator: 'Equal',
  value: 'windows',
  effect,
}))

/** The node agent: DaemonSet `node-agent`, or `node-agent-windows` for Windows nodes. */
export function daemonSetObject(options: InstallOptions, system: NodeSystem): object {
  const name = system === 'linux' ? 'node-agent' : 'node-agent-windows'
  const annotations =
    Object.keys(options.podAnnotations).length === 0 ? {} : { annotations: options.podAnnotations }
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: installMetadata(name, options.namespace),
    spec: {
      selector: { matchLabels: { name } },
      template: {
        metadata: {
          ...annotations,
          labels: { ...installLabels, ...options.podLabels, name, role: 'node-agent' },
        },
        spec: agentPod(options, system, name),
      },
      updateStrategy: {},
    },
  }
}

function agentPod(options: InstallOptions, system: NodeSystem, name: string): object {
  const { nodeAgent } = options
  const { priorityClassName } = nodeAgent
  const placement =
    system === 'linux'
      ? { affinity: windowsAffinity('NotIn'), securityContext: { ...seccompDefault, runAsUser: 0 } }
      : { affinity: windowsAffinity('In'), os: { name: 'windows' }, tolerations: windowsTolerations }
  return {
    ...placement,
    containers: [agentContainer(options, system, name)],
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    serviceAccountName: nodeAgentAccount(options),
    volumes: [
      ...(nodeAgent.hostPath ? hostVolumes(nodeAgent.kubeletRootDir) : []),
      { name: 'scratch', emptyDir: {} },
      ...(system === 'linux' ? [temporaryParts.volume] : []),
      ...credentialParts(options.secret !== undefined).volumes,
      ...(system === 'linux' ? filesystemParts(options).volumes : []),
    ],
  }
}

function hostVolumes(kubeletRootDir: string): object[] {
  return ['pods', 'plugins'].map(folder => ({
    name: `host-${folder}`,
    hostPath: { path: path.join(kubeletRootDir, folder) },
  }))
}

function agentContainer(options: InstallOptions, system: NodeSystem, name: string): object {
  const { nodeAgent } = options
  const credentials = credentialParts(options.secret !== undefined)
  return {
    name,
    image: options.image,
    imagePullPolicy: pullPolicyOf(options.image),
    command: [programInImage],
    args: agentArguments(options),
    ports: metricsPorts,
    env: [
      fromField('NODE_NAME', 'spec.nodeName'),
      fromField('VELERO_NAMESPACE', 'metadata.namespace'),
      { name: 'VELERO_SCRATCH_DIR', value: '/scratch' },
      ...credentials.env,
      ...(system === 'linux' ? temporaryParts.env : []),
    ],
    resources: nodeAgent.resources,
    ...(system === 'linux' ? { securityContext: agentSecurity(nodeAgent.privileged) } : {}),
    volumeMounts: [
      ...(nodeAgent.hostPath ? hostMounts() : []),
      { name: 'scratch', mountPath: '/scratch' },
      ...(system === 'linux' ? [temporaryParts.mount] : []),
      ...credentials.mounts,
      ...(system === 'linux' ? filesystemParts(options).mounts : []),
    ],
  }
}

/** Reading and writing the files of all users takes root and its capabilities, but nothing of the image need change. */
function agentSecurity(privileged: boolean): object {
  return {
    ...(privileged ? {} : { allowPrivilegeEscalation: false }),
    privileged,
    readOnlyRootFilesystem: true,
  }
}

function hostMounts(): object[] {
  return [
    { name: 'host-pods', mountPath: '/host_pods', mountPropagation: 'HostToContainer' },
    { name: 'host-plugins', mountPath: '/var/lib/kubelet/plugins', mountPropagation: 'HostToContainer' },
  ]
}

function agentArguments(options: InstallOptions): string[] {
  const { nodeAgent, features, backupRepositoryConfigMap } = options
  return [
    'node-agent',
    'server',
    ...(features.length === 0 ? [] : [`--features=${features.join(',')}`]),
    ...(nodeAgent.configMap === undefined ? [] : [`--node-agent-configmap=${nodeAgent.configMap}`]),
    ...(backupRepositoryConfigMap === undefined
      ? []
      : [`--backup-repository-configmap=${backupRepositoryConfigMap}`]),
  ]
}
