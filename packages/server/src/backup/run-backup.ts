import type { Backup } from '@lateen/api'
import { builtInKind, type KubeClient, type KubeObject, patiently } from '@lateen/kube'
import { csiFeature, isCsiServed } from '../csi/csi-served.ts'
import { handleTimeoutOf } from '../csi/snapshot-operations.ts'
import { waitForHandle } from '../csi/wait-for-handle.ts'
import { matchVolumePolicy } from '../filters/policies/match-volume-policy.ts'
import { type VolumeObjects, volumeFactsOf } from '../filters/policies/volume-facts.ts'
import { resourceResolver } from '../filters/resource-names.ts'
import type { BackupScope, NamespaceFacts } from '../filters/scope.ts'
import { HookCounter } from '../hooks/hook-counter.ts'
import { resolveSpecHooks } from '../hooks/pod-hooks.ts'
import { type CollectedItems, groupResource } from '../item/item.ts'
import { resolveActions } from '../item/resolve-actions.ts'
import { operationsInMemory } from '../operations/operation-journal.ts'
import { resourceListOf } from '../report/resource-list.ts'
import { csiClaimAction } from '../volumes/csi-operations.ts'
import type { BlockLane } from '../workers/block-workers.ts'
import type { FinishedArchive } from './archive/archive.ts'
import type { BackupOutcome, BackupPorts, BackupRequest } from './backup-request.ts'
import { backUpBlock } from './blocks/back-up-block.ts'
import { type BlockUnit, buildBlocks } from './blocks/build-blocks.ts'
import { storeDefinitions } from './blocks/store-definitions.ts'
import { BlockHooks } from './hooks/block-hooks.ts'
import { createInclusion } from './items/inclusion.ts'
import { ItemRecord } from './items/item-record.ts'
import type { ItemRun } from './items/item-run.ts'
import { createItemSource, type ItemSource } from './items/item-source.ts'
import { storePlainItems } from './items/store-plain-items.ts'
import { resolveScope } from './scope/resolve-scope.ts'
import { createClaimPods } from './volumes/claim-pods.ts'
import type { SnapshotCut } from './volumes/claim-snapshots.ts'
import { type VolumeResults, VolumeWork, type VolumeWorkOptions } from './volumes/volume-work.ts'

/**
 * Takes a backup: finds what belongs to it, groups that into blocks, has the workers store them, and finishes the archive. What
 * cannot be read or stored is an error in the log, and the rest is backed up.
 *
 * Throws when there would be no backup: the API server does not answer (KubeError), scratch is full, an action does not tell what it
 * is for (ActionSelectorError), or the signal's reason. Post hooks of pods whose pre hooks ran have then run.
 */
export async function runBackup(
  request: BackupRequest,
  ports: BackupPorts,
  signal: AbortSignal,
): Promise<BackupOutcome> {
  const scope = await findScope(request, ports, signal)
  await using collected = await ports.collect(scope, signal)
  const work = await prepareWork({ request, ports, scope, collected })
  await using lane = ports.workers.open(signal)
  for await (const unit of buildBlocks({ run: work.run, collected, signal })) await submit(unit, lane, work)
  await lane.drain()
  await storeDefinitions({ run: work.run, scope, lane })
  const volumes = await work.volumes.finish(signal)
  const archive = await ports.archive.finish()
  return outcomeOf(work, { volumes, archive })
}

/** Reads the cluster's types and namespaces anew and says what looks wrong about the filters. */
async function findScope(
  { backup, policies }: BackupRequest,
  { client, clock, log }: BackupPorts,
  signal: AbortSignal,
): Promise<BackupScope> {
  const readCluster = async () => {
    await client.discovery.refresh({ signal })
    const discovery = await client.discovery.preferred({ signal })
    return { discovery, namespaces: await listNamespaces(client, signal) }
  }
  const found = await patiently(readCluster, { clock, log, signal })
  const scope = resolveScope({ backup, policies, ...found })
  for (const { message, fields } of scope.warnings) log.warn(fields, message)
  return scope
}

const namespaceType = builtInKind<KubeObject & { status?: { phase?: string } }>('Namespace')

async function listNamespaces(client: KubeClient, signal: AbortSignal): Promise<NamespaceFacts[]> {
  const found: NamespaceFacts[] = []
  for await (const { metadata, status } of client.resource(namespaceType).list({ signal })) {
    found.push({ name: metadata.name ?? '', labels: metadata.labels, phase: status?.phase })
  }
  return found
}

/** What the work on one backup needs. */
interface Work {
  run: ItemRun
  volumes: VolumeWork
  hooks: BlockHooks
  hookCounter: HookCounter
  collected: CollectedItems
  onProgress: BackupPorts['onProgress']
}

interface WorkFacts {
  request: BackupRequest
  ports: BackupPorts
  scope: BackupScope
  collected: CollectedItems
}

async function prepareWork({ request, ports, scope, collected }: WorkFacts): Promise<Work> {
  const { client, clock, log, archive, onProgress } = ports
  const { backup } = request
  const resolve = resourceResolver(await client.discovery.preferred())
  const source = await createItemSource(client, collected)
  const hookCounter = new HookCounter()
  const specHooks = resolveSpecHooks(backup.spec.hooks, resolve)
  const operations = ports.operations ?? operationsInMemory()
  const csiUnavailable = await whyNoCsi(request, ports)
  const volumes = volumeWork(source, { request, ports, scope, operations, csiUnavailable })
  const run: ItemRun = {
    backup,
    log,
    clock,
    archive,
    source,
    inclusion: createInclusion(scope),
    record: new ItemRecord(collected.count),
    itemActions: await resolveActions(ports.backupItemActions, resolve),
    blockActions: await resolveActions(ports.itemBlockActions, resolve),
    volumes,
    operations,
    csiEnabled: csiUnavailable === undefined,
  }
  const hooks = new BlockHooks({ client, clock, log, specHooks, counter: hookCounter })
  return { run, volumes, hooks, hookCounter, collected, onProgress }
}

function snapshotCut(backup: Backup, { client, clock }: BackupPorts): SnapshotCut {
  const timeoutMs = handleTimeoutOf(backup)
  return (snapshot, signal) => waitForHandle(snapshot, { client, clock, timeoutMs, signal })
}

/** Why no snapshots are taken through CSI; undefined when they are. */
async function whyNoCsi(
  { features }: BackupRequest,
  { client, backupItemActions }: BackupPorts,
): Promise<string | undefined> {
  const hasAction = backupItemActions.some(({ name }) => name === csiClaimAction)
  if (!features?.has(csiFeature)) return 'CSI snapshots are switched off'
  if (!hasAction) return 'CSI snapshots are not available without a server'
  return (await isCsiServed(client.discovery))
    ? undefined
    : 'the cluster does not serve VolumeSnapshots (snapshot.storage.k8s.io/v1)'
}

interface VolumeWorkFacts extends Omit<WorkFacts, 'collected'> {
  operations: VolumeWorkOptions['operations']
  csiUnavailable: string | undefined
}

function volumeWork(
  source: ItemSource,
  { request, ports, scope, operations, csiUnavailable }: VolumeWorkFacts,
): VolumeWork {
  const { backup, policies } = request
  return new VolumeWork({
    backup,
    source,
    volumes: ports.volumes,
    clock: ports.clock,
    operations,
    claimPods: createClaimPods(ports.client),
    matchPolicy:
      policies && (volume => matchVolumePolicy(policies, volumeFactsOf(volume as VolumeObjects))?.type),
    csiUnavailable,
    ...(csiUnavailable === undefined && { snapshotCut: snapshotCut(backup, ports) }),
    settings: {
      defaultVolumesToFsBackup: backup.spec.defaultVolumesToFsBackup ?? false,
      snapshotVolumes: backup.spec.snapshotVolumes ?? undefined,
      claimsExcluded: !scope.resources.collects(claims),
    },
  })
}

const claims = {
  groupResource: groupResource({ group: '', plural: 'persistentvolumeclaims' }),
  namespaced: true,
}

async function submit(unit: BlockUnit, lane: BlockLane, work: Work): Promise<void> {
  const task = async (signal: AbortSignal) => {
    if (unit.kind === 'plain') await storePlainItems(unit.items, { ...work, signal })
    else await backUpBlock(unit.block, { ...work, signal })
    const { groupResource: resource, namespace, name } = unit.first
    work.onProgress?.({ ...work.run.record.progress, current: { resource, namespace, name } })
  }
  // The user wants these one after the other.
  if (unit.kind === 'block' && unit.ordered) await lane.perform(task)
  else await lane.submit(task)
}

function outcomeOf(
  { run, hookCounter }: Work,
  { volumes, archive }: { volumes: VolumeResults; archive: FinishedArchive },
): BackupOutcome {
  const { volumeInfo, volumeSnapshots, podVolumeBackups, skipped: skippedVolumes } = volumes
  const progress = run.record.result
  run.log.info({ ...progress, skippedVolumes }, 'All items are in the archive')
  return {
    archive,
    progress,
    resourceList: resourceListOf(run.record.storedItems()),
    operations: run.operations.all,
    hookStatus: hookCounter.status,
    volumeInfo,
    volumeSnapshots,
    podVolumeBackups,
    skippedVolumes,
  }
}
