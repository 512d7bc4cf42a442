import { type BackupRepositoryKey, goDurationOf } from '@lateen/api'
import {
  builtInKind,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  type KubeObject,
  unlessNotFound,
} from '@lateen/kube'
import { findRepository } from '../backup-repository/ensure-repository.ts'
import { type CacheVolume, cacheVolumeFor } from './cache-volume.ts'
import { DataPathError } from './data-path-error.ts'
import { hostPath } from './host-path.ts'
import {
  type DaemonSet,
  DaemonSetKind,
  hostPodsVolume,
  moverPod,
  type NodeOs,
  nodeAgents,
} from './mover-pod.ts'
import { type Pod, PodKind } from './mover-state.ts'
import type { NodeAgentConfig } from './node-agent-config.ts'
import { volumePath } from './volume-path.ts'

/** What is read of nodes. */
export interface Node extends KubeObject {
  status?: object
}

export const NodeKind = builtInKind<Node>('Node')

/** One volume of one pod, and what its data is moved for. */
export interface Exposure {
  readonly work: 'backup' | 'restore'
  readonly owner: KubeObject
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string | undefined }
  readonly volume: string
  /** For restores: the repository they read from, and how much. */
  readonly source?: { readonly repository: BackupRepositoryKey; readonly bytes: number | undefined }
}

export interface ExposePorts {
  client: KubeClient
  /** Of the node agent's own objects. */
  namespace: string
  node: string
  os: NodeOs
  /** Where the node's folder of pods is in this process's file system. */
  podsFolder: string
  config: NodeAgentConfig
  resourceTimeoutMs: number
  signal: AbortSignal
}

/**
 * Starts the pod that moves the data of one volume. One that is there already is left as it is, and has to go first if it is of earlier work. Throws a `DataPathError` for what cannot be moved, and
 * KubeErrors.
 */
export async function exposeVolume(
  { work, owner, pod, volume, source }: Exposure,
  ports: ExposePorts,
): Promise<void> {
  const { client, node, os, podsFolder, config, resourceTimeoutMs, signal } = ports
  if (!isObjectName(pod.namespace) || !isObjectName(pod.name)) throw notAPod(pod)
  const found = await client.resource(PodKind, pod.namespace).get(pod.name, { signal }).catch(unlessNotFound)
  if (found === undefined || (pod.uid !== undefined && found.metadata.uid !== pod.uid)) throw podGone(pod)
  if (found.spec?.nodeName !== node) throw podElsewhere(found, node)
  const inFolder = await volumePath(found, volume, { client, podsFolder, signal })
  const nodeAgent = await nodeAgentOf(os, ports)
  const mover = moverPod({
    ...{ work, owner, node, os, nodeAgent, config },
    volume: { hostPath: hostPath(hostPodsPath(nodeAgent), inFolder, os) },
    resourceTimeout: goDurationOf(resourceTimeoutMs),
    cache: await cacheFor(source, ports),
  })
  await startMover(mover, { client, signal })
}

/** Creates the pod of a mover. One that is there already is left as it is. Throws `NAME_TAKEN`, and KubeErrors. */
export async function startMover(
  mover: Pod,
  { client, signal }: Pick<ExposePorts, 'client' | 'signal'>,
): Promise<void> {
  await client
    .resource(PodKind, mover.metadata.namespace)
    .create(mover, { signal })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
      return refuseForeign(mover, { client, signal })
    })
}

/** The volume for a restore to cache in, if it is to have one. Throws KubeErrors. */
export async function cacheFor(
  source: Exposure['source'],
  { config, client, namespace, signal }: Pick<ExposePorts, 'config' | 'client' | 'namespace' | 'signal'>,
): Promise<CacheVolume | undefined> {
  const { cachePVC: settings } = config
  if (source === undefined || settings === undefined) return undefined
  const found = await findRepository(source.repository, { client, namespace, signal })
  const limitMB = found?.spec.repositoryConfig?.cacheLimitMB
  return cacheVolumeFor({ settings, bytes: source.bytes, limitMB })
}

/** A pod of the mover's name that nobody made for such work will not go away; one of earlier work will. */
async function refuseForeign(
  { metadata }: Pod,
  { client, signal }: Pick<ExposePorts, 'client' | 'signal'>,
): Promise<void> {
  const { namespace, name = '' } = metadata
  const found = await client.resource(PodKind, namespace).get(name, { signal }).catch(unlessNotFound)
  const kinds: readonly string[] = (metadata.ownerReferences ?? []).map(({ kind }) => kind)
  if (found === undefined || found.metadata.ownerReferences?.some(({ kind }) => kinds.includes(kind))) return
  throw new DataPathError('NAME_TAKEN', {
    reason: `there is a pod ${namespace}/${name} already, which is no mover`,
    hint: 'Remove it, or give it another name',
  })
}

/** Removes the pod of a mover at once. Throws KubeErrors. */
export async function removeMover(
  pod: Pod,
  { client, signal }: Pick<ExposePorts, 'client' | 'signal'>,
): Promise<void> {
  const { namespace, name = '', uid } = pod.metadata
  await client
    .resource(PodKind, namespace)
    .delete(name, { gracePeriodSeconds: 0, preconditions: { uid }, signal })
    .catch(unlessNotFound)
}

/** The DaemonSet of the node agents on such nodes. Throws `NO_NODE_AGENT`, and other KubeErrors. */
export async function nodeAgentOf(
  os: NodeOs,
  { client, namespace, signal }: Pick<ExposePorts, 'client' | 'namespace' | 'signal'>,
): Promise<DaemonSet> {
  try {
    return await client.resource(DaemonSetKind, namespace).get(nodeAgents[os], { signal })
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new DataPathError('NO_NODE_AGENT', {
      reason: `there is no DaemonSet ${nodeAgents[os]} in the namespace ${namespace}`,
      hint: 'Movers are made after it: lateen install --use-node-agent',
      cause: error,
    })
  }
}

/** Where the kubelet keeps pods on the node, as the installation says. */
function hostPodsPath({ metadata, spec }: DaemonSet): string {
  const volume = spec.template.spec.volumes?.find(({ name }) => name === hostPodsVolume)
  if (volume?.hostPath !== undefined) return volume.hostPath.path
  throw new DataPathError('NO_NODE_AGENT', {
    reason: `the DaemonSet ${metadata.namespace}/${metadata.name} does not mount the node's pods as ${hostPodsVolume}`,
    hint: 'Install the node agent without --node-agent-disable-host-path',
  })
}

/** Whether anything in Kubernetes can have this name: not what would lead elsewhere as part of a path. */
function isObjectName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)
}

function notAPod({ namespace, name }: Exposure['pod']): DataPathError {
  return new DataPathError('POD_NOT_FOUND', {
    reason: `no pod can be called ${JSON.stringify(`${namespace}/${name}`)}`,
    hint: 'Name a namespace and a pod in spec.pod',
  })
}

function podGone({ namespace, name }: Exposure['pod']): DataPathError {
  return new DataPathError('POD_NOT_FOUND', {
    reason: `the pod ${namespace}/${name} is gone`,
    hint: 'It may have been replaced since; take another backup',
  })
}

function podElsewhere({ metadata, spec }: Pod, node: string): DataPathError {
  return new DataPathError('POD_NOT_FOUND', {
    reason: `the pod ${metadata.namespace}/${metadata.name} is on ${spec?.nodeName || 'no node'} and not on ${node}`,
    hint: 'It may have been replaced since; take another backup',
  })
}
