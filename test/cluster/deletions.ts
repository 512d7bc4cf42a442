import {
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  type DeleteBackupRequestStatus,
} from '@lateen/api'
import { isNotFound, type KubeClient } from '@lateen/kube'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import type { ServerScene } from './backup-server-scene.ts'

/** The requests for deletions of one namespace, as a user handles them. */
export class Deletions {
  readonly #resource
  readonly #scene: Pick<ServerScene, 'client' | 'namespace' | 'backups'>

  constructor(scene: Pick<ServerScene, 'client' | 'namespace' | 'backups'>) {
    this.#scene = scene
    this.#resource = (scene.client as KubeClient).resource(DeleteBackupRequestKind, scene.namespace)
  }

  /** Returns the name of the request. */
  async request(
    backupName: string,
    labels: Record<string, string> = {},
    status?: DeleteBackupRequestStatus,
  ): Promise<string> {
    const made = await this.#resource.create({
      apiVersion: 'velero.io/v1',
      kind: 'DeleteBackupRequest',
      metadata: { generateName: `${backupName || 'none'}-`, namespace: this.#scene.namespace, labels },
      spec: { backupName },
      ...(status && { status }),
    })
    return made.metadata.name ?? ''
  }

  list(): Promise<DeleteBackupRequest[]> {
    return this.#resource.list().toArray()
  }

  /** Waits until a request is as the check wants it. */
  until(name: string, accepts: (request: DeleteBackupRequest) => boolean): Promise<DeleteBackupRequest> {
    let last: DeleteBackupRequest | undefined
    return waitUntil(
      async () => {
        last = await this.#resource.get(name).catch(() => last)
        return last !== undefined && accepts(last) ? last : undefined
      },
      {
        timeoutMs: 120_000,
        failure: () => new Error(`${name} stayed at ${JSON.stringify(last?.status)}`),
        everyMs: 50,
      },
    )
  }

  /** Waits for the end of a request that is not carried out, and returns why. */
  async refused(name: string): Promise<readonly string[]> {
    const { status } = await this.until(name, request => request.status?.phase === 'Processed')
    return status?.errors ?? []
  }

  /** Waits until neither the backup nor a request for its deletion is there. */
  async done(backup: string): Promise<void> {
    const left = async () => {
      const requests = (await this.list()).filter(({ spec }) => spec.backupName === backup)
      const phase = await this.#scene.backups.get(backup).then(
        ({ status }) => status?.phase ?? 'New',
        (error: unknown) => (isNotFound(error) ? undefined : String(error)),
      )
      return { phase, requests: requests.map(({ status }) => status) }
    }
    await waitUntil(
      async () => {
        const { phase, requests } = await left()
        return phase === undefined && requests.length === 0
      },
      {
        timeoutMs: 120_000,
        failure: async () => new Error(`${backup} stays: ${JSON.stringify(await left())}`),
        everyMs: 50,
      },
    )
  }
}
