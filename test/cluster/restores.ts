import { gzipSync } from 'node:zlib'
import { type Restore, RestoreKind, type RestorePhase, type RestoreSpec } from '@lateen/api'
import { isNotFound, type KubeClient } from '@lateen/kube'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import type { ServerScene } from './backup-server-scene.ts'

/** Where restores end. */
const terminalPhases: readonly RestorePhase[] = ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation']

export function isEnded({ status }: Restore): boolean {
  return terminalPhases.includes(status?.phase ?? 'New')
}

/** The restores of one namespace, as a user handles them. */
export class Restores {
  readonly #resource
  readonly #namespace: string

  constructor(client: KubeClient, namespace: string) {
    this.#resource = client.resource(RestoreKind, namespace)
    this.#namespace = namespace
  }

  async create(name: string, spec: RestoreSpec): Promise<void> {
    const metadata = { name, namespace: this.#namespace }
    await this.#resource.create({ apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec })
  }

  get(name: string): Promise<Restore> {
    return this.#resource.get(name)
  }

  list(): Promise<Restore[]> {
    return this.#resource.list().toArray()
  }

  /** Asks for the deletion and does not wait for it. */
  async delete(name: string): Promise<void> {
    await this.#resource.delete(name)
  }

  async patchStatus(name: string, status: object): Promise<void> {
    await this.#resource.patch(name, { type: 'merge', body: { status } })
  }

  /** Waits until a restore is as the check wants it. */
  until(name: string, accepts: (restore: Restore) => boolean): Promise<Restore> {
    let last: Restore | undefined
    return waitUntil(
      async () => {
        last = await this.get(name).catch(() => last)
        return last !== undefined && accepts(last) ? last : undefined
      },
      {
        timeoutMs: 180_000,
        failure: () => new Error(`${name} stayed at ${JSON.stringify(last?.status)}`),
        everyMs: 50,
      },
    )
  }

  /** Waits until a server has begun with a restore; a short one may have ended meanwhile. */
  begun(name: string): Promise<Restore> {
    return this.until(name, ({ status }) => ![undefined, 'New'].includes(status?.phase))
  }

  /** Waits until a restore is in one of the phases that it does not leave by itself. */
  ended(name: string): Promise<Restore> {
    return this.until(name, isEnded)
  }

  /** Creates a restore and waits for its end. */
  async run(name: string, spec: RestoreSpec): Promise<Restore> {
    await this.create(name, spec)
    return this.ended(name)
  }

  /** Waits until a restore does not exist. */
  async gone(name: string): Promise<void> {
    let last: Restore | undefined
    const isGone = async () => {
      try {
        last = await this.get(name)
        return undefined
      } catch (error) {
        return isNotFound(error) ? true : undefined
      }
    }
    await waitUntil(isGone, {
      timeoutMs: 120_000,
      failure: () => new Error(`${name} stays: ${JSON.stringify(last?.metadata)}`),
      everyMs: 50,
    })
  }
}

/** Puts a backup that was made by hand where the server of a scene finds it. */
export async function publishBackup(
  { cluster, bucket, namespace }: ServerScene,
  { name, archive, volumeInfo = [] }: { name: string; archive: Buffer; volumeInfo?: readonly object[] },
): Promise<void> {
  const at = (file: string) => `backups/${name}/${file}`
  await bucket.write(at(`${name}.tar.gz`), archive)
  await bucket.write(at(`${name}-volumeinfo.json.gz`), gzipSync(JSON.stringify(volumeInfo)))
  const backup = {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace },
    spec: { storageLocation: 'default' },
    status: { phase: 'Completed', formatVersion: '1.1.0' },
  }
  await bucket.write(at('velero-backup.json'), Buffer.from(JSON.stringify(backup)))
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(backup) })
}
