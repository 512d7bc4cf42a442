import { type Backup, BackupKind, type Schedule, ScheduleKind, type ScheduleSpec } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** The schedules of one namespace, as a user handles them. */
export class Schedules {
  readonly #resource
  readonly #backups
  readonly #namespace: string

  constructor(client: KubeClient, namespace: string) {
    this.#resource = client.resource(ScheduleKind, namespace)
    this.#backups = client.resource(BackupKind, namespace)
    this.#namespace = namespace
  }

  create(
    name: string,
    spec: Partial<ScheduleSpec> & { schedule: string },
    meta: Partial<Schedule['metadata']> = {},
  ): Promise<Schedule> {
    const metadata = { ...meta, name, namespace: this.#namespace }
    return this.#resource.create({
      apiVersion: 'velero.io/v1',
      kind: 'Schedule',
      metadata,
      spec: { template: {}, ...spec },
    })
  }

  get(name: string): Promise<Schedule> {
    return this.#resource.get(name)
  }

  async patch(name: string, body: object): Promise<void> {
    await this.#resource.patch(name, { type: 'merge', body })
  }

  async delete(name: string): Promise<void> {
    await this.#resource.delete(name)
  }

  /** Waits until a schedule is as the check wants it. */
  until(name: string, accepts: (schedule: Schedule) => boolean): Promise<Schedule> {
    let last: Schedule | undefined
    return waitUntil(
      async () => {
        last = await this.get(name)
        return accepts(last) ? last : undefined
      },
      {
        timeoutMs: 120_000,
        everyMs: 50,
        failure: () => new Error(`${name} stayed at ${JSON.stringify(last)}`),
      },
    )
  }

  /** The backups of a schedule by name, which is by time. */
  async backupsOf(name: string): Promise<Backup[]> {
    const labelSelector = `velero.io/schedule-name=${name}`
    const found = await this.#backups.list({ labelSelector }).toArray()
    return found.sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
  }

  /** Waits until a schedule has made this many backups, and returns them. */
  made(name: string, count: number): Promise<Backup[]> {
    let last: Backup[] = []
    return waitUntil(
      async () => {
        last = await this.backupsOf(name)
        return last.length >= count ? last : undefined
      },
      {
        timeoutMs: 120_000,
        everyMs: 50,
        failure: () => new Error(`${name} made ${last.length} backups, and not ${count}`),
      },
    )
  }

  /** Does what the server's other controllers would do. */
  async setPhase(backup: Backup, phase: string): Promise<void> {
    const body = { status: { phase } }
    await this.#backups.patch(backup.metadata.name ?? '', { type: 'merge', body })
  }
}
