import { inheritedAnnotations, inheritedLabels, inheritedTolerations, labelNames } from '@lateen/api'
import { builtInKind, type KubeObject } from '@lateen/kube'
import { onlyNamed, resourcesOf } from '../backup-repository/maintenance-job.ts'
import { type CacheVolume, cachePath, cacheVolumeName, podVolumeOf } from './cache-volume.ts'
import { DataPathError } from './data-path-error.ts'
import type { Pod } from './mover-state.ts'
import type { NodeAgentConfig } from './node-agent-config.ts'

interface NodeAgentContainer {
  image: string
  args?: readonly string[]
  env?: readonly object[]
  envFrom?: readonly object[]
  volumeMounts?: readonly { name: string }[]
  securityContext?: {
    privileged?: boolean
    allowPrivilegeEscalation?: boolean
    runAsUser?: number
    runAsNonRoot?: boolean
    seLinuxOptions?: object
  }
}

/** What is read of the node agent's DaemonSet. */
export interface DaemonSet extends KubeObject {
  spec: {
    template: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
      spec: {
        containers: readonly NodeAgentContainer[]
        volumes?: readonly { name: string; hostPath?: { path: string } }[]
        serviceAccountName?: string
        securityContext?: {
          runAsUser?: number
          runAsNonRoot?: boolean
          fsGroup?: number
          fsGroupChangePolicy?: string
          seLinuxOptions?: object
        }
        dnsPolicy?: string
        dnsConfig?: object
        imagePullSecrets?: readonly object[]
        tolerations?: readonly { key?: string }[]
      }
    }
  }
}

export const DaemonSetKind = builtInKind<DaemonSet>('DaemonSet')

/** What systems nodes run, and what their node agents are called. */
export const nodeAgents = { linux: 'node-agent', windows: 'node-agent-windows' } as const
export type NodeOs = keyof typeof nodeAgents

/** The volume of the node agent that holds the pods of its node. */
export const hostPodsVolume = 'host-pods'

/** What the node agent sees of its node. Movers see the volume they are for, and no other. */
const ofTheNode: readonly string[] = [hostPodsVolume, 'host-plugins']

/** The volume that a mover is for: a folder of its node, or what is behind a claim in the mover's own namespace. */
export type MoverVolume =
  | { readonly hostPath: string }
  | { readonly claim: string; readonly mode: 'Filesystem' | 'Block'; readonly readOnly?: boolean }

/** What a mover is made for. */
export interface MoverFacts {
  readonly work: 'backup' | 'restore'
  /** The PodVolumeBackup, PodVolumeRestore, DataUpload or DataDownload. */
  readonly owner: KubeObject
  /** Undefined where the scheduler is to choose one. */
  readonly node: string | undefined
  readonly os: NodeOs
  readonly volume: MoverVolume
  readonly nodeAgent: DaemonSet
  readonly config: NodeAgentConfig
  /** In Go's notation. */
  readonly resourceTimeout: string
  /** For restores. */
  readonly cache?: CacheVolume | undefined
  /** Where the scheduler may put it. */
  readonly affinity?: object | undefined
  /** Volumes that are read only are not labelled anew for SELinux. */
  readonly noRelabeling?: boolean | undefined
}

/** How the pods of one sort of work are marked and called. */
interface MoverWords {
  readonly label: string
  readonly group: string
  readonly command: 'pod-volume' | 'data-mover'
  readonly nameFlag: string
}

const words: Readonly<Record<string, MoverWords>> = {
  PodVolumeBackup: {
    ...{ label: labelNames.podVolumeBackup, group: 'pod-volume-backup' },
    ...{ command: 'pod-volume', nameFlag: 'pod-volume-backup' },
  },
  PodVolumeRestore: {
    ...{ label: labelNames.podVolumeRestore, group: 'pod-volume-restore' },
    ...{ command: 'pod-volume', nameFlag: 'pod-volume-restore' },
  },
  DataUpload: {
    ...{ label: labelNames.dataUpload, group: 'snapshot-exposer' },
    ...{ command: 'data-mover', nameFlag: 'data-upload' },
  },
  DataDownload: {
    ...{ label: labelNames.dataDownload, group: 'generic-restore-exposer' },
    ...{ command: 'data-mover', nameFlag: 'data-download' },
  },
}

function wordsOf({ kind = '' }: KubeObject): MoverWords {
  const found = words[kind]
  if (found !== undefined) return found
  throw new DataPathError('VOLUME_UNSUPPORTED', {
    reason: `nothing is moved for a ${kind}`,
    hint: 'Movers are for PodVolumeBackups, PodVolumeRestores, DataUploads and DataDownloads',
  })
}

/** The pod that moves the data of one volume: the node agent's image and surroundings, and that volume alone. */
export function moverPod(facts: MoverFacts): Pod {
  const { owner, node, os, config, nodeAgent, affinity } = facts
  const { spec, metadata: template = {} } = nodeAgent.spec.template
  const { name = '', namespace = '', uid = '' } = owner.metadata
  const { label, group } = wordsOf(owner)
  const own = {
    [label]: name,
    [labelNames.exposerPodGroup]: group,
    // With its claim, a backup that runs meanwhile would take it for somebody's volume.
    ...('claim' in facts.volume && { [labelNames.excludeFromBackup]: 'true' }),
  }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ownerReferences: [{ apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true }],
      labels: { ...(config.podLabels ?? onlyNamed(template.labels, inheritedLabels)), ...own },
      annotations: { ...(config.podAnnotations ?? onlyNamed(template.annotations, inheritedAnnotations)) },
    },
    spec: {
      ...(node === undefined ? spreadOf(group) : { nodeName: node }),
      ...(affinity && { affinity }),
      os: { name: os },
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [moverContainer(facts)],
      volumes: [
        { name: uid, ...volumeSource(facts.volume) },
        ...(facts.cache === undefined ? [] : [podVolumeOf(facts.cache, node)]),
        ...(spec.volumes ?? []).filter(volume => !ofTheNode.includes(volume.name)),
      ],
      ...(config.priorityClassName && { priorityClassName: config.priorityClassName }),
      ...(spec.serviceAccountName && { serviceAccountName: spec.serviceAccountName }),
      ...(spec.dnsPolicy && { dnsPolicy: spec.dnsPolicy }),
      ...(spec.dnsConfig && { dnsConfig: spec.dnsConfig }),
      ...(spec.imagePullSecrets && { imagePullSecrets: spec.imagePullSecrets }),
      ...systemOf(facts),
    },
  }
  return pod
}

/** Movers that may run anywhere are not to run on one node all of them. */
function spreadOf(group: string): object {
  return {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { [labelNames.exposerPodGroup]: group } },
      },
    ],
  }
}

function volumeSource(volume: MoverVolume): object {
  // A folder that is gone by then must not be made: it would be taken for an empty volume.
  if ('hostPath' in volume) return { hostPath: { path: volume.hostPath, type: 'Directory' } }
  return {
    persistentVolumeClaim: { claimName: volume.claim, ...(volume.readOnly && { readOnly: true }) },
  }
}

/** How a container sees the volume. */
function attachmentOf(
  volume: MoverVolume,
  name: string,
  path: string,
): { mounts: object[]; devices: object[] } {
  if ('hostPath' in volume)
    return { mounts: [{ name, mountPath: path, mountPropagation: 'HostToContainer' }], devices: [] }
  if (volume.mode === 'Block') return { mounts: [], devices: [{ name, devicePath: path }] }
  return { mounts: [{ name, mountPath: path, ...(volume.readOnly && { readOnly: true }) }], devices: [] }
}

function moverContainer(facts: MoverFacts): object {
  const { work, owner, nodeAgent, config, resourceTimeout, cache, volume } = facts
  const container = containerOf(nodeAgent)
  const { name = '', uid = '' } = owner.metadata
  const { command, nameFlag } = wordsOf(owner)
  const path = `/${uid}`
  const { mounts, devices } = attachmentOf(volume, uid, path)
  return {
    name: uid,
    image: container.image,
    // It is on the node: the node agent runs from it.
    imagePullPolicy: 'Never',
    command: ['/velero', command, work],
    args: [
      `--volume-path=${path}`,
      ...('mode' in volume ? [`--volume-mode=${volume.mode}`] : []),
      `--resource-timeout=${resourceTimeout}`,
      `--${nameFlag}=${name}`,
      ...(cache === undefined ? [] : [`--cache-volume-path=${cachePath}`]),
      ...logArguments(container.args ?? []),
    ],
    ...(container.env && { env: container.env }),
    ...(container.envFrom && { envFrom: container.envFrom }),
    volumeMounts: [
      ...mounts,
      ...(cache === undefined ? [] : [{ name: cacheVolumeName, mountPath: cachePath }]),
      ...(container.volumeMounts ?? []).filter(mount => !ofTheNode.includes(mount.name)),
    ],
    ...(devices.length > 0 && { volumeDevices: devices }),
    resources: resourcesOf(config.podResources ?? {}),
    ...containerSecurity(container, facts),
  }
}

/**
 * That of the node agent, as the pod's root. Folders of a node are seen with the privilege that the node agent has, or as the settings say;
 * what is behind a claim needs none.
 */
function containerSecurity(
  { securityContext = {} }: NodeAgentContainer,
  { os, volume, config, noRelabeling }: MoverFacts,
): object {
  if (os !== 'linux') return {}
  const { privileged: ofAgent, allowPrivilegeEscalation, seLinuxOptions, ...others } = securityContext
  const { runAsUser: _user, runAsNonRoot: _rule, ...inherited } = others
  const privileged = 'hostPath' in volume && (config.privilegedFsBackup ?? ofAgent ?? false)
  return {
    securityContext: {
      ...inherited,
      // Kubernetes refuses it beside the privilege.
      ...(allowPrivilegeEscalation !== undefined && !privileged && { allowPrivilegeEscalation }),
      // It would be taken rather than the pod's.
      ...(seLinuxOptions && !noRelabeling && { seLinuxOptions }),
      ...('hostPath' in volume && { privileged }),
    },
  }
}

/** The first container of the node agent. Throws `NO_NODE_AGENT` for a DaemonSet without any. */
function containerOf({ metadata, spec }: DaemonSet): NodeAgentContainer {
  const [container] = spec.template.spec.containers
  if (container !== undefined) return container
  throw new DataPathError('NO_NODE_AGENT', {
    reason: `the DaemonSet ${metadata.namespace}/${metadata.name} has no container`,
    hint: 'Install the node agent again: lateen install --use-node-agent',
  })
}

function logArguments(args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    if (arg === '--log-level' || arg === '--log-format') return args.slice(at, at + 2)
    return /^--log-(level|format)=/.test(arg) ? [arg] : []
  })
}

function systemOf({ os, node, nodeAgent, noRelabeling }: MoverFacts): object {
  const { securityContext = {}, tolerations: given = [] } = nodeAgent.spec.template.spec
  const wellKnown = inheritedTolerations
    .map(key => given.find(toleration => toleration.key === key))
    .filter(toleration => toleration !== undefined)
  // Where the node agent may stay, its mover may: taints with NoExecute count for pods that nobody schedules, too.
  const inherited = node === undefined ? wellKnown : given
  if (os === 'linux') {
    // With a group, the kubelet would give all files behind a claim to it.
    const { fsGroup: _group, fsGroupChangePolicy: _policy, runAsNonRoot: _rule, ...same } = securityContext
    const seLinux = noRelabeling && { seLinuxOptions: { type: 'spc_t' } }
    return { securityContext: { ...same, runAsUser: 0, ...seLinux }, tolerations: inherited }
  }
  const windows = (effect: string) => ({ key: 'os', operator: 'Equal', value: 'windows', effect })
  return {
    securityContext: { windowsOptions: { runAsUserName: 'ContainerAdministrator' } },
    tolerations: [...inherited, windows('NoSchedule'), windows('NoExecute')],
  }
}
