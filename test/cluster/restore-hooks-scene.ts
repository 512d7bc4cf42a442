import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Restore, RestoreSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, silentLogger, systemClock } from '@lateen/kube'
import { builtInRestoreActions } from '../../packages/server/src/builtin-actions/restore/built-in-restore-actions.ts'
import { initRestoreHookAction } from '../../packages/server/src/builtin-actions/restore/init-restore-hook-action.ts'
import { RestoreExecHooks } from '../../packages/server/src/restore/hooks/restore-exec-hooks.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { archiveOf, handsOn, restoreArchive, type Stored, stored } from './restore-harness.ts'

/** Where the pods are restored. */
export const hooksNamespace = 'restore-hooks'

export const container = (name: string, fields: object = {}) => ({
  name,
  image: busyboxImageName,
  imagePullPolicy: 'Never',
  ...fields,
})

interface PodFields {
  annotations?: Record<string, string>
  spec?: object
  main?: object
}

export function pod(name: string, { annotations = {}, spec = {}, main = {} }: PodFields = {}): Stored {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: hooksNamespace, labels: { app: name }, annotations },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [container('main', main), container('side')],
      ...spec,
    },
  }
}

export const annotated = (hook: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(hook).map(([key, value]) => [`post.hook.restore.velero.io/${key}`, value]),
  )

export const touch = (word: string) => ['touch', `/tmp/${word}`]

export const probe = (...command: string[]) => ({ readinessProbe: { exec: { command }, periodSeconds: 1 } })

/** A namespace in which pods are restored with their hooks, by the engine alone. Disposing removes it. */
export interface HooksScene extends AsyncDisposable {
  readonly client: KubeClient
  hooksOf(spec: RestoreSpec, signal: AbortSignal, mostCommands?: number): RestoreExecHooks
  /** Restores pods; their hooks go on. */
  restorePods(hooks: RestoreExecHooks, spec: RestoreSpec, pods: readonly Stored[]): Promise<void>
  /** Runs a command in the main container of a pod, and returns its exit code. */
  run(name: string, ...command: string[]): Promise<number>
  /** Whether a word was touched in a pod. */
  has(name: string, word: string): Promise<boolean>
}

export async function openHooksScene(cluster: Cluster): Promise<HooksScene> {
  const client = await createKubeClient({ config: await loadKubeConfig({ path: cluster.kubeconfigPath }) })
  await handsOn(cluster).createForPods({ name: hooksNamespace })
  const run: HooksScene['run'] = (name, ...command) =>
    client.exec({ namespace: hooksNamespace, name, container: 'main' }, { command })
  return {
    client,
    hooksOf(spec, signal, mostCommands = 10) {
      const restore: Restore = { apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'r' }, spec }
      const options = { client, clock: systemClock, log: silentLogger, restore, mostCommands }
      return new RestoreExecHooks(options, signal)
    },
    async restorePods(hooks, spec, pods) {
      const others = [initRestoreHookAction({ newUid: randomUUID })]
      const actions = builtInRestoreActions({ client, namespace: 'velero', others })
      const ports = { actions, onPodRestored: hooks.begin.bind(hooks) }
      const archive = archiveOf(...pods.map(stored))
      const { outcome } = await restoreArchive({ client, archive, spec, ports })
      assert.deepEqual(outcome.results.errors, {})
    },
    run,
    has: async (name, word) => (await run(name, 'test', '-f', `/tmp/${word}`)) === 0,
    async [Symbol.asyncDispose]() {
      await cluster.kubectl(['delete', 'namespace', hooksNamespace, '--wait=false', '--ignore-not-found'])
      await client[Symbol.asyncDispose]()
    },
  }
}
