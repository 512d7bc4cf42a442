import { patiently } from '@lateen/kube'
import { isCsiServed } from '../csi/csi-served.ts'
import { resourceResolver } from '../filters/resource-names.ts'
import { type GroupResource, groupResource } from '../item/item.ts'
import { resolveActions } from '../item/resolve-actions.ts'
import { operationsInMemory } from '../operations/operation-journal.ts'
import type { BlockLane } from '../workers/block-workers.ts'
import { backedUpObjects } from './archive/backed-up-objects.ts'
import { awaitServed } from './items/definitions.ts'
import { ExistingObjects } from './items/existing-objects.ts'
import { existingPolicyOf } from './items/existing-policy.ts'
import { asError } from './items/item-outcome.ts'
import { Namespaces } from './items/namespaces.ts'
import { linkOwners, OwnerLinks, relinksOwners } from './items/owner-links.ts'
import { restoreLabelsOf } from './items/reset-object.ts'
import { RestoreRecord } from './items/restore-record.ts'
import { RestoreReport } from './items/restore-report.ts'
import type { RestoreRun } from './items/restore-run.ts'
import { RestoreProgressCount, restoreType } from './items/restore-type.ts'
import { throwIfOver } from './items/throw-if-over.ts'
import { chooseVersions, hasVersions } from './order/choose-versions.ts'
import { orderTypes } from './order/order-types.ts'
import type { RestoreOutcome, RestorePorts, RestoreRequest } from './restore-request.ts'
import { resolveRestoreScope } from './scope/resolve-restore-scope.ts'
import { RestoreVolumes } from './volumes/restore-volumes.ts'
import { noVolumeRestore, type RestoreVolumeInfo, type VolumeRestore } from './volumes/volume-restore.ts'

const definitions = groupResource({ group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' })

/**
 * Restores a backup: definitions first, then type by type in the order of priorities, the objects of a type side by side. What cannot
 * be restored is an error or a warning of the outcome, and the rest is restored.
 *
 * Throws when there would be no restore: the API server does not answer (KubeError), scratch fails (ScratchError), an action does not
 * tell what it is for (ActionSelectorError), or the signal's reason.
 */
export async function runRestore(
  request: RestoreRequest,
  ports: RestorePorts,
  signal: AbortSignal,
): Promise<RestoreOutcome> {
  const work = await prepareWork(request, ports, signal)
  await using lane = ports.workers.open(signal)
  await restoreDefinitions(work, lane, signal)
  for (const { types } of work.tiers) {
    for (const type of types) await restoreType(type, { ...work, lane })
    await lane.drain()
    work.run.existing.forget()
  }
  await linkAll(work.run, lane)
  const volumeInfo = await work.run.volumes.finish(signal)
  return outcomeOf(work.run, volumeInfo)
}

/** What the work on one restore needs. */
interface Work {
  run: RestoreRun
  /** All but the definitions, which come before. */
  tiers: readonly { readonly types: readonly GroupResource[] }[]
  versions: ReadonlyMap<GroupResource, string>
  progress: RestoreProgressCount
}

/** Reads the cluster's types anew, and says what looks wrong about the filters. */
async function prepareWork(request: RestoreRequest, ports: RestorePorts, signal: AbortSignal): Promise<Work> {
  const { archive, discovery, clock, log } = ports
  const readTypes = async () => {
    await discovery.refresh({ signal })
    return { served: await discovery.all({ signal }), preferred: await discovery.preferred({ signal }) }
  }
  const { served, preferred } = await patiently(readTypes, { clock, log, signal })
  const resolve = resourceResolver(preferred)
  const run = await prepareRun({ request, ports, resolve }, signal)
  for (const { message, fields } of run.scope.warnings) run.log.warn(fields, message)
  if (archive.count === 0) {
    const error = 'zero items to be restored: the backup has no resources'
    run.report.warn({ place: 'restore', error, message: 'There is nothing to restore' })
  }
  const byVersion =
    request.features?.has('EnableAPIGroupVersions') === true && hasVersions(archive.formatVersion)
  const others = archive.types.filter(type => type.groupResource !== definitions)
  return {
    run,
    tiers: orderTypes({ types: others, priorities: request.priorities, resolve }),
    versions: byVersion
      ? chooseVersions({ types: archive.types, discovery: served, priorities: request.versionPriorities })
      : new Map(),
    progress: new RestoreProgressCount(run),
  }
}

interface RunFacts {
  request: RestoreRequest
  ports: RestorePorts
  resolve: ReturnType<typeof resourceResolver>
}

async function prepareRun({ request, ports, resolve }: RunFacts, signal: AbortSignal): Promise<RestoreRun> {
  const { restore, backup, policies } = request
  const { archive, sink, clock, log, timeouts } = ports
  const report = new RestoreReport(log)
  const preferred = await ports.discovery.preferred({ signal })
  const scope = resolveRestoreScope({ restore, policies, discovery: preferred, archive })
  const terminatingMs = timeouts.terminating
  const volumes = await volumesHere(ports, signal)
  const objects = backedUpObjects(archive)
  return {
    restore,
    ports,
    scope,
    log,
    report,
    record: new RestoreRecord(),
    namespaces: new Namespaces({ archive, sink, clock, terminatingMs }),
    existing: new ExistingObjects({ sink, log }),
    owners: new OwnerLinks(relinksOwners(restore)),
    volumes: new RestoreVolumes({
      restore,
      backup,
      backedUp: request.volumes,
      objects,
      volumes,
      scope,
      sink,
      report,
      clock,
      terminatingMs,
      newUid: () => ports.newUid(),
    }),
    actions: await resolveActions(ports.actions, resolve),
    policy: existingPolicyOf(restore),
    labels: restoreLabelsOf(restore),
    csiEnabled: !('unavailable' in volumes.csi),
    backedUp: objects,
    operations: ports.operations ?? operationsInMemory(),
    claims: [],
    definitions: [],
  }
}

/** The ways of restoring volumes, as far as the cluster has what they need. */
async function volumesHere(
  { volumes, actions, discovery }: RestorePorts,
  signal: AbortSignal,
): Promise<VolumeRestore> {
  if ('unavailable' in volumes.csi) return volumes
  if (!actions.some(({ name }) => name === csiClaimAction)) return { ...volumes, csi: noVolumeRestore.csi }
  if (await isCsiServed(discovery, signal)) return volumes
  const unavailable = 'the cluster does not serve VolumeSnapshots (snapshot.storage.k8s.io/v1)'
  return { ...volumes, csi: { unavailable, movedIsAvailable: true } }
}

const csiClaimAction = 'velero.io/csi-pvc-restorer'

/** What later tiers hold can be created only once the server serves its types. */
async function restoreDefinitions(work: Work, lane: BlockLane, signal: AbortSignal): Promise<void> {
  const { run } = work
  const { sink, discovery, clock, timeouts } = run.ports
  await restoreType(definitions, { ...work, lane })
  await lane.drain()
  if (run.definitions.length === 0 || !sink.writes) return
  const ports = { sink, discovery, clock, timeoutMs: timeouts.resource }
  const missing = await awaitServed(run.definitions, ports, signal)
  for (const { group, version, plural } of missing) {
    const error = `${plural}.${group}/${version} is defined and still not served: its objects may be refused`
    run.report.warn({ place: { namespace: '' }, error, message: 'A type is not served' })
  }
}

/** Links objects to owners that came after them. */
async function linkAll(run: RestoreRun, lane: BlockLane): Promise<void> {
  for (const object of run.owners.pending()) {
    const { namespace } = object.target
    await lane.submit(async signal => {
      try {
        await linkOwners(run.ports.sink, object, signal)
      } catch (error) {
        throwIfOver(error, signal)
        const fields = { resource: groupResource(object.target.type), name: object.target.name }
        run.report.warn({
          place: { namespace },
          error: asError(error),
          message: 'An item has no owner',
          fields,
        })
      }
    })
  }
  await lane.drain()
}

function outcomeOf(
  { record, report, operations, claims }: RestoreRun,
  volumeInfo: RestoreVolumeInfo[],
): RestoreOutcome {
  return {
    progress: { itemsRestored: record.count, totalItems: record.count },
    items: () => record.items(),
    results: report.results,
    warnings: report.warnings,
    errors: report.errors,
    resourceList: record.resourceList(),
    operations: operations.all,
    restoredClaims: claims,
    volumeInfo,
  }
}
