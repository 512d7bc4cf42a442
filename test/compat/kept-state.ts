import assert from 'node:assert/strict'
import type { KubeObject } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import type { BackupBucket } from '../cluster/backup-bucket.ts'

/** All that users have in a cluster and its bucket, and that no change of the server may take from them. */
export interface KeptState {
  /** Objects of the velero.io group by `kind namespace/name`. */
  readonly objects: ReadonlyMap<string, StoredObject>
  /** What each file in the bucket holds, by its name. */
  readonly files: ReadonlyMap<string, string>
}

interface StoredObject extends KubeObject {
  // biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
  spec?: any
  // biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
  status?: any
}

/** A question to the server and its answer: whoever serves answers it anew, and removes it after some minutes. */
const questions = new Set(['DownloadRequest', 'ServerStatusRequest'])

/** What a server writes again and again by its own clock. */
const restless: Readonly<Record<string, readonly string[]>> = {
  BackupStorageLocation: ['lastSyncedTime', 'lastValidationTime'],
  Schedule: ['lastBackup', 'lastSkipped'],
  BackupRepository: ['lastMaintenanceTime', 'recentMaintenance'],
}

/** Maintenance puts the contents of a repository together anew. What it is and how it is encrypted stays. */
const rewritten = /^kopia\/[^/]+\/(?!kopia\.repository$)/

const ended = new Set(['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation'])

/** Reads all of it. */
export async function keptState(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  bucket: BackupBucket,
): Promise<KeptState> {
  const kinds = await kubectl(['api-resources', '--api-group=velero.io', '--verbs=list', '-o', 'name'])
  const list = await kubectl(['get', kinds.trim().split('\n').join(), '-A', '-o', 'json'])
  const objects = (JSON.parse(list).items as StoredObject[]).filter(({ kind }) => !questions.has(kind))
  return {
    objects: new Map(objects.map(object => [keyOf(object), object])),
    files: await bucket.contents(),
  }
}

/** Every object and file of `before` is there unchanged, but for what runs on; there may be more. */
export function assertKept(before: KeptState, after: KeptState): void {
  for (const [key, object] of before.objects) {
    const found = after.objects.get(key)
    assert.ok(found, `${key} is gone`)
    if (isUnderWay(object)) continue
    assert.deepEqual(lasting(found), lasting(object), key)
  }
  for (const [name, digest] of before.files) {
    if (!rewritten.test(name)) assert.equal(after.files.get(name), digest, name)
  }
}

/** The names of the objects of a kind. */
export function namesOf({ objects }: KeptState, kind: string): string[] {
  return [...objects.values()]
    .filter(object => object.kind === kind)
    .map(({ metadata }) => metadata.name ?? '')
    .toSorted((a, b) => a.localeCompare(b))
}

function isUnderWay({ kind, status }: StoredObject): boolean {
  return (kind === 'Backup' || kind === 'Restore') && !ended.has(status?.phase)
}

function lasting({ kind, metadata, spec, status }: StoredObject): unknown {
  const { name, namespace, uid, labels, annotations, finalizers, ownerReferences } = metadata
  const kept = { ...status }
  for (const field of restless[kind] ?? []) delete kept[field]
  return { name, namespace, uid, labels, annotations, finalizers, ownerReferences, spec, status: kept }
}

function keyOf({ kind, metadata }: StoredObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
}
