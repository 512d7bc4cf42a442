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
const programs = { mover: moverCommand(), 'node agent': nodeAgentCommand, server: serverCommand }
const victims = Object.keys(programs) as (keyof typeof programs)[]

/** What tests do that kill the programs of an installation. */
export interface KillScene {
  createBackup(name: string, spec: BackupSpec): Promise<void>
  createRestore(name: string, spec: RestoreSpec): Promise<void>
  /** Waits until nothing more happens to a backup or restore, with pods that start at once; returns its last phase. */
  ended(of: 'backup' | 'restore', name: string): Promise<string>
  /** Kills programs at moments within a time, as often as the seed says; a seed that finds none of its victims kills whoever is there then. */
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

  /** False when there is none. */
  async function kill(victim: keyof typeof programs, random: SeededRandom): Promise<boolean> {
    const pids = await podProcesses({ cluster: given.cluster, namespace, command: programs[victim] })
    return pids.length > 0 && sent(random.pick(pids), 'SIGKILL')
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
      let killed = 0
      for (let at = 0; at < count; at += 1) {
        await sleep((random.next() * withinMs) / count)
        const victim = random.pick(victims)
        const isKilled = await kill(victim, random)
        t.diagnostic(`${isKilled ? 'killed' : 'missed'} a ${victim}`)
        if (isKilled) killed += 1
      }
      if (killed > 0) return
      await untilSeen('something to kill', async () => {
        for (const victim of victims) {
          if (!(await kill(victim, random))) continue
          t.diagnostic(`killed a ${victim} in the place of those that were missed`)
          return true
        }
        return false
      })
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
