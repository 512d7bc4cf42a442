import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { type KubeClient, type KubeObject, silentLogger, systemClock } from '@lateen/kube'
import { builtInRestoreActions } from '../../packages/server/src/builtin-actions/restore/built-in-restore-actions.ts'
import type { Results } from '../../packages/server/src/report/report.ts'
import { openBackupArchive } from '../../packages/server/src/restore/archive/open-backup-archive.ts'
import type { RestoredItem, RestoredObject } from '../../packages/server/src/restore/items/restored-item.ts'
import type { ResourceModifiers } from '../../packages/server/src/restore/modifiers/resource-modifiers.ts'
import { planRestore } from '../../packages/server/src/restore/plan/plan-restore.ts'
import type { PlannedObject } from '../../packages/server/src/restore/plan/planned-item.ts'
import { noVolumeRestore } from '../../packages/server/src/restore/volumes/volume-restore.ts'
import { createBlockWorkers } from '../../packages/server/src/workers/block-workers.ts'
import { type RestoreOptions, requestOf } from './restore-harness.ts'

/** An item of a plan with what it is about. */
export interface SeenItem extends RestoredItem, PlannedObject {
  readonly source: RestoredObject['source']
}

/** A plan, read to its end. */
export interface DonePlan {
  items: ReadonlyMap<string, SeenItem>
  counts: Record<string, number>
  warnings: number
  errors: number
  results: Results
  remarks: readonly string[]
}

/** Plans with the engine alone. */
export async function planArchive(
  options: RestoreOptions & { archive: Buffer; modifiers?: ResourceModifiers | undefined },
): Promise<DonePlan> {
  const { client, archive: source, modifiers, workers: count = 4 } = options
  const { signal } = new AbortController()
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'lateen-plan-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(scratch, { recursive: true, force: true }))
  const archive = cleanup.use(await openBackupArchive({ stream: Readable.from([source]), scratch, signal }))
  const plan = cleanup.use(
    await planRestore(
      { ...requestOf(options), ...options.request, modifiers, withObjects: true },
      {
        archive,
        client,
        clock: systemClock,
        log: silentLogger,
        scratch,
        workers: cleanup.use(createBlockWorkers({ count })),
        actions: builtInRestoreActions({ client, namespace: 'velero' }),
        volumes: noVolumeRestore,
        newUid: () => crypto.randomUUID(),
      },
      signal,
    ),
  )
  const items = new Map<string, SeenItem>()
  for await (const { objects, ...item } of plan.items()) {
    items.set(keyOf({ item, source: item.source }), { ...item, ...(await objects()) })
  }
  const { counts, warnings, errors, results, remarks } = plan
  return { items, counts, warnings, errors, results, remarks }
}

/** An item by its kind and what it was in the backup; names in the cluster may be new each time. */
export function keyOf({ item, source }: Pick<RestoredObject, 'item' | 'source'>): string {
  return `${item.kind} ${source.namespace}/${source.name}`
}

/** The version of every object of a cluster that nobody but clients changes. */
export async function versionsOf(client: KubeClient): Promise<Map<string, string>> {
  const versions = new Map<string, string>()
  const restless = new Set(['leases.coordination.k8s.io', 'events.', 'events.events.k8s.io'])
  await client.discovery.refresh()
  for (const type of await client.discovery.preferred()) {
    if (!type.verbs.includes('list') || restless.has(`${type.plural}.${type.group}`)) continue
    for await (const { metadata } of client.resource<KubeObject>(type).list()) {
      const key = `${type.plural}.${type.group} ${metadata.namespace ?? ''}/${metadata.name}`
      versions.set(key, metadata.resourceVersion ?? '')
    }
  }
  return versions
}
