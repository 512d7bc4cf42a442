import path from 'node:path'
import type { PodVolumeBackup, PodVolumeRestore } from '@lateen/api'
import { apiVersionOf, PodVolumeBackupKind, PodVolumeRestoreKind } from '@lateen/api'
import type { KubeObject } from '@lateen/kube'
import type { MoverEvent } from '../../packages/server/src/data-path/mover-reports.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { nodeName } from '../../tools/cluster/cluster-layout.ts'
import type { Given } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** A pod, as PodVolumeBackups and PodVolumeRestores name it. */
export interface PodRef {
  namespace: string
  name: string
  uid: string
}

/** What tests of faults do beside a scene: objects that nobody but them would make, and looks into the node. */
export interface FaultScene {
  /** Writes the settings of node agents, which they read when they start. */
  configureAgents(config: object): Promise<void>
  /** Creates objects. */
  create(...objects: object[]): Promise<void>
  pod(namespace: string, name: string): Promise<PodRef>
  /** The folder of an emptyDir, on this machine. */
  folder(pod: PodRef, volume: string): string
  /** The same as the node sees it. */
  folderOnNode(pod: PodRef, volume: string): string
  /** Has a volume backed up, as no server would ask for it. `spec` goes before all else. */
  backUp(request: MoveRequest<PodVolumeBackup>): Promise<void>
  restore(request: MoveRequest<PodVolumeRestore> & { snapshotID: string }): Promise<void>
  /** Waits until it is in a last phase. */
  backedUp(name: string): Promise<PodVolumeBackup>
  restored(name: string): Promise<PodVolumeRestore>
  /** What the mover of an object told in events, by their reasons. */
  told(object: KubeObject): Promise<Map<string, string>>
  /** Waits until the movers of these are gone. */
  moversGone(names: readonly string[]): Promise<void>
}

export interface MoveRequest<T extends { spec: object }> {
  name: string
  pod: PodRef
  volume: string
  spec?: Partial<T['spec']>
}

/** Below the kubelet's own. */
function folderOf({ uid }: PodRef, volume: string): string {
  return path.join('pods', uid, 'volumes/kubernetes.io~empty-dir', volume)
}

const over = /^(Completed|Failed|Canceled)$/

const agentConfig = 'agents'

/** Of `lateen install`, for settings of node agents that tests choose. */
export const agentFlags = [`--node-agent-configmap=${agentConfig}`]

/** For the installation in a namespace. */
export function faultScene(given: Given, namespace: string): FaultScene {
  const kubectl: Cluster['kubectl'] = (...args) => given.cluster.kubectl(...args)
  const create = async (...items: object[]) => {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await kubectl(['create', '-f', '-'], { stdin })
  }

  async function inPhase<T extends PodVolumeBackup | PodVolumeRestore>(
    kind: string,
    name: string,
    phases: RegExp,
  ): Promise<T> {
    let last = ''
    return waitUntil<T>(
      async () => {
        last = await kubectl(['-n', namespace, 'get', kind, name, '-o', 'json'])
        const object: T = JSON.parse(last)
        return phases.test(object.status?.phase ?? '') && object
      },
      { timeoutMs: 180_000, everyMs: 300, failure: () => new Error(`${kind} ${name} is not over: ${last}`) },
    )
  }

  return {
    create,
    async configureAgents(config) {
      const objects = [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: agentConfig, namespace },
          data: { 'config.json': JSON.stringify(config) },
        },
      ]
      const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
      await kubectl(['apply', '-f', '-'], { stdin })
    },
    async pod(podNamespace, name) {
      const args = ['-n', podNamespace, 'get', 'pod', name, '-ojsonpath={.metadata.uid}']
      return { namespace: podNamespace, name, uid: await kubectl(args) }
    },
    folder: (pod, volume) => path.join(given.cluster.plan.folder, 'kubelet', folderOf(pod, volume)),
    folderOnNode: (pod, volume) => path.join('/var/lib/kubelet', folderOf(pod, volume)),
    backUp: ({ name, pod, volume, spec }) =>
      create({
        apiVersion: apiVersionOf(PodVolumeBackupKind),
        kind: 'PodVolumeBackup',
        metadata: { name, namespace },
        spec: {
          ...{ node: nodeName, pod: { kind: 'Pod', ...pod }, volume, uploaderType: 'kopia' },
          ...{ backupStorageLocation: 'default', repoIdentifier: '', tags: {} },
          ...spec,
        },
      }),
    restore: ({ name, pod, volume, snapshotID, spec }) =>
      create({
        apiVersion: apiVersionOf(PodVolumeRestoreKind),
        kind: 'PodVolumeRestore',
        metadata: { name, namespace },
        spec: {
          ...{ pod: { kind: 'Pod', ...pod }, volume, uploaderType: 'kopia', snapshotID },
          ...{ backupStorageLocation: 'default', repoIdentifier: '', sourceNamespace: pod.namespace },
          ...spec,
        },
      }),
    backedUp: name => inPhase('podvolumebackup', name, over),
    restored: name => inPhase('podvolumerestore', name, over),
    async told({ metadata }) {
      const about = `--field-selector=involvedObject.uid=${metadata.uid}`
      const { items } = JSON.parse(await kubectl(['-n', namespace, 'get', 'events', about, '-o', 'json']))
      return new Map((items as MoverEvent[]).map(({ reason, message }) => [reason, message]))
    },
    async moversGone(names) {
      let left: string[] = []
      const areGone = async () => {
        const args = ['-n', namespace, 'get', 'pods', '-ojsonpath={.items[*].metadata.name}']
        const pods = (await kubectl(args)).split(' ')
        left = names.filter(name => pods.includes(name))
        return left.length === 0
      }
      const failure = () => new Error(`movers that do not go: ${left.join(', ')}`)
      await waitUntil(areGone, { timeoutMs: 180_000, everyMs: 300, failure })
    },
  }
}
