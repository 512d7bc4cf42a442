import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  apiVersionOf,
  type Backup,
  BackupKind,
  type BackupSpec,
  isTerminal,
  type Restore,
  RestoreKind,
  type RestoreSpec,
} from '@lateen/api'
import { builtInKind, type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'
import type { Given } from '../../tools/cluster/testing.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import type { SeededRandom } from '../../tools/test/seeds.ts'
import { moverCommand, nodeAgentCommand, podProcesses, sent, serverCommand } from './pod-processes.ts'

interface Pod extends KubeObject {
  status?: {
    phase?: string
    containerStatuses?: { ready?: boolean; state?: { waiting?: { reason?: string } } }[]
  }
}
const PodKind = builtInKind<Pod>('Pod')
const programs = { server: serverCommand, 'node agent': nodeAgentCommand, mover: moverCommand() }

/** What tests do that kill the programs of an installation. */
export interface KillScene {
  createBackup(name: string, spec: BackupSpec): Promise<void>
  createRestore(name: string, spec: RestoreSpec): Promise<void>
  /** Waits until nothing more happens to a backup or restore, with pods that start at once; returns its last phase. */
  ended(of: 'backup' | 'restore', name: string): Promise<string>
  /** Kills programs at moments within a time that the seed chooses, until it has killed as many as that says. */
  killSome(random: SeededRandom, t: TestContext, withinMs: number): Promise<void>
  /** The kubelet waits longer before each start of a container that was killed often; a pod in its place starts at once. */
  reviveFailing(): Promise<void>
  /** Waits until server and node agent run and are ready, however often they were killed. */
  recovered(): Promise<void>
}

export interface KillSceneOptions {
  given: Given
  /** Of the installation. */
  namespace: string
  client: () => KubeClient
}

export function killScene({ given, namespace, client }: KillSceneOptions): KillScene {
  const backups = () => client().resource<Backup>(BackupKind, namespace)
  const restores = () => client().resource<Restore>(RestoreKind, namespace)

  async function reviveFailing(): Promise<void> {
    const pods = client().resource(PodKind, namespace)
    for await (const { metadata, status } of pods.list()) {
      const [container] = status?.containerStatuses ?? []
      if (container?.state?.waiting?.reason !== 'CrashLoopBackOff') continue
      await pods.delete(metadata.name ?? '', { gracePeriodSeconds: 0 }).catch(unlessNotFound)
    }
  }

  return {
    async createBackup(name, spec) {
      const { kind } = BackupKind
      const metadata = { name, namespace }
      await backups().create({ apiVersion: apiVersionOf(BackupKind), kind, metadata, spec })
    },
    async createRestore(name, spec) {
      const { kind } = RestoreKind
      const metadata = { name, namespace }
      await restores().create({ apiVersion: apiVersionOf(RestoreKind), kind, metadata, spec })
    },
    ended(of, name) {
      let last: unknown
      return waitUntil(
        async () => {
          await reviveFailing()
          const { status } = of === 'backup' ? await backups().get(name) : await restores().get(name)
          last = status
          const isOver =
            of === 'backup'
              ? isTerminal(BackupKind, (status as Backup['status'])?.phase)
              : isTerminal(RestoreKind, (status as Restore['status'])?.phase)
          return isOver && status?.phase
        },
        {
          timeoutMs: 240_000,
          everyMs: 200,
          failure: () => new Error(`the ${of} ${name} does not end: ${JSON.stringify(last)}`),
        },
      )
    },
    async killSome(random, t, withinMs) {
      const count = random.integer(1, 4)
      for (let at = 0; at < count; at += 1) {
        await sleep((random.next() * withinMs) / count)
        const victim = random.pick(Object.keys(programs) as (keyof typeof programs)[])
        const pids = await podProcesses({ cluster: given.cluster, namespace, command: programs[victim] })
        if (pids.length === 0) continue
        const killed = sent(random.pick(pids), 'SIGKILL')
        t.diagnostic(`${killed ? 'killed' : 'missed'} a ${victim}`)
      }
    },
    reviveFailing,
    recovered: () =>
      untilSeen('that server and node agent are back', async () => {
        await reviveFailing()
        for (const command of [serverCommand, nodeAgentCommand]) {
          if ((await podProcesses({ cluster: given.cluster, namespace, command })).length === 0) return false
        }
        const pods = await client().resource(PodKind, namespace).list().toArray()
        return pods.every(
          ({ status }) =>
            /^(Succeeded|Failed)$/.test(status?.phase ?? '') ||
            status?.containerStatuses?.every(({ ready }) => ready),
        )
      }),
  }
}
