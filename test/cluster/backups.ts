import { type Backup, BackupKind, type BackupPhase, type BackupSpec } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { Locations } from './storage-location-harness.ts'

/** Where backups end. */
export const terminalPhases: readonly BackupPhase[] = [
  'Completed',
  'PartiallyFailed',
  'Failed',
  'FailedValidation',
]

/** The backups of one namespace, as a user handles them. */
export class Backups {
  readonly #resource
  readonly #namespace: string

  constructor(client: KubeClient, namespace: string) {
    this.#resource = client.resource(BackupKind, namespace)
    this.#namespace = namespace
  }

  async create(name: string, spec: BackupSpec = {}): Promise<void> {
    const metadata = { name, namespace: this.#namespace }
    await this.#resource.create({ apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec })
  }

  get(name: string): Promise<Backup> {
    return this.#resource.get(name)
  }

  list(): Promise<Backup[]> {
    return this.#resource.list().toArray()
  }

  async delete(name: string): Promise<void> {
    await this.#resource.delete(name)
  }

  /** Waits until a backup is as the check wants it. */
  until(name: string, accepts: (backup: Backup) => boolean): Promise<Backup> {
    let last: Backup | undefined
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

  /** Waits until a server has begun with a backup; a short one may have ended meanwhile. */
  begun(name: string): Promise<Backup> {
    const before = [undefined, 'New', 'Queued', 'ReadyToStart']
    return this.until(name, ({ status }) => !before.includes(status?.phase))
  }

  /** Waits until a backup is in one of the phases that it does not leave by itself. */
  ended(name: string): Promise<Backup> {
    return this.until(name, isTerminal)
  }

  /** Creates a backup and waits for its end. */
  async take(name: string, spec: BackupSpec = {}): Promise<Backup> {
    await this.create(name, spec)
    return this.ended(name)
  }
}

export function isTerminal({ status }: Backup): boolean {
  return terminalPhases.includes(status?.phase ?? 'New')
}

/** A location in the cluster's bucket. */
export interface LocationInBucket {
  name?: string
  prefix: string
  /** Instead of the S3 server itself. */
  s3Url?: string
  /** Whether its credentials are in a Secret; otherwise the server's environment tells. Default: true. */
  secret?: boolean
}

/** Makes a location and leaves it to a server to find it. The one named `default` is the default. */
export async function createLocation(
  { cluster, client, namespace }: { cluster: Cluster; client: KubeClient; namespace: string },
  { name = 'default', prefix, s3Url, secret = true }: LocationInBucket,
): Promise<void> {
  const { s3 } = cluster
  if (secret) await createSecret(cluster, namespace)
  await new Locations(client, namespace).create(name, {
    provider: 'aws',
    objectStorage: { bucket: s3.bucket, prefix },
    config: { region: s3.region, s3ForcePathStyle: 'true', s3Url: s3Url ?? s3.endpoint },
    ...(secret && { credential: { name: 'cloud', key: 'cloud' } }),
    default: name === 'default',
  })
}

async function createSecret(cluster: Cluster, namespace: string): Promise<void> {
  const metadata = { name: 'cloud', namespace }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { cloud: credentialsIn(cluster) } }
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(secret) })
}

/** A credentials file for the cluster's S3 server. */
export function credentialsIn({ s3 }: Pick<Cluster, 's3'>): string {
  return `[default]\naws_access_key_id = ${s3.accessKeyId}\naws_secret_access_key = ${s3.secretAccessKey}\n`
}
