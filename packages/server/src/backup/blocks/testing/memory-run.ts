import type { Backup } from '@lateen/api'
import { type Logger, type ResourceType, systemClock, type Unstructured } from '@lateen/kube'
import type {
  ActionItem,
  BackupItemAction,
  ItemBlockAction,
  Registered,
  ResourceIdentifier,
} from '@lateen/plugin'
import type { BackupScope } from '../../../filters/scope.ts'
import {
  type CollectedItem,
  type CollectedItems,
  groupResource,
  type ItemRef,
  itemKey,
} from '../../../item/item.ts'
import { resolveActions } from '../../../item/resolve-actions.ts'
import type { BackupOperation } from '../../../operations/backup-operation.ts'
import { type BegunOperations, operationsInMemory } from '../../../operations/operation-journal.ts'
import type { VolumeBackup } from '../../../volumes/volume-backup.ts'
import { noVolumeBackup } from '../../../volumes/volume-backup.ts'
import { createInclusion } from '../../items/inclusion.ts'
import { ItemRecord } from '../../items/item-record.ts'
import type { ItemRun } from '../../items/item-run.ts'
import type { ItemSource } from '../../items/item-source.ts'
import type { LoadedItem } from '../../items/loaded-item.ts'
import type { SnapshotCut } from '../../volumes/claim-snapshots.ts'
import { VolumeWork } from '../../volumes/volume-work.ts'

/** An object of a made-up cluster: `pods/shop/web`, `persistentvolumes//pv-1`. */
export type ObjectPath = string

export interface MemoryObject {
  path: ObjectPath
  /** Parts of the object besides what its path says. */
  body?: object
  /** Exists, but was not collected. */
  uncollected?: boolean
  ordered?: boolean
}

export interface MemoryRunOptions {
  objects: readonly MemoryObject[]
  blockActions?: readonly Registered<ItemBlockAction>[]
  itemActions?: readonly Registered<BackupItemAction>[]
  volumes?: VolumeBackup
  operations?: BegunOperations<BackupOperation>
  /** Waits for snapshots through CSI. Absent: there are none. */
  snapshotCut?: SnapshotCut
  onLine?(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: object): void
}

/** A run over objects in memory that admits everything. */
export interface MemoryRun {
  run: ItemRun & { volumes: VolumeWork }
  collected: CollectedItems
  /** Paths in the archive, in order. */
  archived: string[]
}

const types = new Map<string, ResourceType<Unstructured>>()

function typeOf(plural: string, namespaced: boolean): ResourceType<Unstructured> {
  const type = types.get(plural) ?? { group: '', version: 'v1', kind: plural, plural, namespaced }
  types.set(plural, type)
  return type
}

function refOf(path: ObjectPath): ItemRef {
  const [plural = '', namespace = '', name = ''] = path.split('/')
  const type = typeOf(plural, namespace !== '')
  return { type, groupResource: groupResource(type), namespace, name }
}

export function identifierOf(path: ObjectPath): ResourceIdentifier {
  const [resource = '', namespace = '', name = ''] = path.split('/')
  return { group: '', resource, namespace, name }
}

/** `pods/shop/web` of an item. */
export function pathOf({ ref }: Pick<LoadedItem, 'ref'>): ObjectPath {
  return itemKey(ref)
}

export async function createMemoryRun(options: MemoryRunOptions): Promise<MemoryRun> {
  const { objects } = options
  const bodies = new Map(objects.map(object => [object.path, bytesOf(object)]))
  const collected = collect(objects, bodies)
  const archived: string[] = []
  const backup: Backup = {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: 'memory' },
    spec: {},
  }
  const source = sourceOf(collected, bodies)
  const resolve = (name: string) => ({
    groupResource: groupResource({ group: '', plural: name }),
    namespaced: true,
  })
  const { operations = operationsInMemory<BackupOperation>() } = options
  const run: MemoryRun['run'] = {
    backup,
    source,
    log: logTo(options.onLine),
    clock: systemClock,
    inclusion: createInclusion(everything),
    record: new ItemRecord(collected.count),
    itemActions: await resolveActions(options.itemActions ?? [], resolve),
    blockActions: await resolveActions(options.blockActions ?? [], resolve),
    operations,
    csiEnabled: options.snapshotCut !== undefined,
    archive: {
      add: async path => void archived.push(path),
    },
    volumes: new VolumeWork({
      backup,
      source,
      volumes: options.volumes ?? noVolumeBackup,
      settings: { defaultVolumesToFsBackup: true, snapshotVolumes: undefined, claimsExcluded: false },
      matchPolicy: undefined,
      claimPods: { using: async () => [] },
      csiUnavailable: options.snapshotCut ? undefined : 'not here',
      snapshotCut: options.snapshotCut,
      clock: systemClock,
      operations,
    }),
  }
  return { run, collected, archived }
}

function bytesOf({ path, body }: MemoryObject): Uint8Array {
  const { type, namespace, name } = refOf(path)
  const metadata = { name, ...(namespace !== '' && { namespace }) }
  const object: ActionItem = { apiVersion: 'v1', kind: type.kind, metadata }
  return Buffer.from(JSON.stringify({ ...object, ...body }))
}

function collect(objects: readonly MemoryObject[], bodies: ReadonlyMap<string, Uint8Array>): CollectedItems {
  const items = objects
    .filter(({ uncollected }) => uncollected !== true)
    .map(
      ({ path, ordered = false }, index): CollectedItem => ({
        ...refOf(path),
        index,
        ordered,
        preferred: true,
        excludedByLabel: false,
        terminating: false,
      }),
    )
  const find: CollectedItems['find'] = item => items.find(each => itemKey(each) === itemKey(item))
  return {
    count: items.length,
    [Symbol.iterator]: () => items[Symbol.iterator](),
    find,
    versionsOf: item => items.filter(each => each === find(item)),
    load: async item => bodies.get(itemKey(item)) ?? Buffer.from(''),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

function sourceOf(collected: CollectedItems, bodies: ReadonlyMap<string, Uint8Array>): ItemSource {
  const read = (ref: ItemRef, isCollected: boolean): LoadedItem[] => {
    const bytes = bodies.get(itemKey(ref))
    if (bytes === undefined) return []
    const object = JSON.parse(Buffer.from(bytes).toString())
    return [{ ref, collected: isCollected, preferred: true, bytes, object }]
  }
  return {
    load: async item => read(item, true)[0] as LoadedItem,
    locate: async ({ resource, namespace, name }) => refOf(`${resource}/${namespace}/${name}`),
    read: async ref => read(ref, collected.find(ref) !== undefined),
  }
}

const everything: BackupScope = {
  namespaces: { all: true, wide: true, names: [], missing: [], includes: () => true },
  resources: {
    collects: () => true,
    admits: () => true,
    excludesByName: () => false,
    includesByName: () => false,
  },
  labelSelectors: [],
  ordered: new Map(),
  warnings: [],
  takesNamespace: () => true,
  fineFilter: () => undefined,
}

function logTo(onLine: MemoryRunOptions['onLine']): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    onLine?.(level, message, fields)
  const log: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  }
  return log
}
