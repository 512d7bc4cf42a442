import {
  type DataDownload,
  DataDownloadKind,
  type DataMovePhase,
  type DataUpload,
  DataUploadKind,
  finalizerNames,
  formatTime,
  isTerminal,
  type KindDescription,
  labelNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
} from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Outcome,
  periodically,
  type ReconcileContext,
  unlessNotFound,
  watching,
} from '@lateen/kube'
import { NodeKind, removeMover } from '../data-path/expose-volume.ts'
import { isOwnedBy } from '../data-path/intermediate-claim.ts'
import { PodKind } from '../data-path/mover-state.ts'
import { removeCopies } from '../data-path/needed-copies.ts'
import { discardVolume } from '../data-path/rebind-volume.ts'
import { removeExposedSnapshot } from '../data-path/remove-exposed-snapshot.ts'
import { decideLostMove, type LostStep, type Missing } from '../volumes/decide-lost-move.ts'
import { isBuiltInMover } from '../volumes/new-data-upload.ts'
import { noNodeAgentOn } from '../volumes/node-agent-on.ts'
import { LatestObjects } from './latest-objects.ts'
import type { MoveScope, VolumeMove } from './move-sort.ts'
import { patchInPhase } from './patch-in-phase.ts'
import { patchObject } from './patch-object.ts'

export interface LostMovesOptions {
  client: KubeClient
  clock: Clock
  /** Of the server's own objects. */
  namespace: string
  backups: Informer<PodVolumeBackup>
  restores: Informer<PodVolumeRestore>
  uploads: Informer<DataUpload>
  downloads: Informer<DataDownload>
}

/** What is lost of one kind, and how what it made is removed. */
interface LostSort<T extends VolumeMove> {
  kind: KindDescription<T>
  finalizer: string
  objects: LatestObjects<T>
  /** Undefined where a mover's pod is all that there can be, and goes with its node. */
  isClean?: (object: T, scope: MoveScope) => Promise<boolean>
}

const EVERY_MS = 10_000

/**
 * Ends the work on volume data that no node agent will end: its node is gone, the pod whose volume was to be restored is gone before
 * anybody took it up, or it was cancelled where no node agent hears of it. What a node agent has made elsewhere than on its node is removed, too.
 */
export function lostMovesController(options: LostMovesOptions): ControllerOptions {
  const { backups, restores, uploads, downloads, clock } = options
  const since = new Map<string, { what: string; at: number }>()
  const latest = {
    backups: new LatestObjects(backups),
    restores: new LatestObjects(restores),
    uploads: new LatestObjects(uploads),
    downloads: new LatestObjects(downloads),
  }

  /** How long this has been missing. */
  function forMs(uid: string, missing: Missing | undefined): number {
    if (missing === undefined) since.delete(uid)
    else if (since.get(uid)?.what !== missing.what) since.set(uid, { what: missing.what, at: clock.now() })
    return clock.now() - (since.get(uid)?.at ?? clock.now())
  }

  async function look<T extends VolumeMove>(sort: LostSort<T>, scope: Scope) {
    for (const object of sort.objects.list()) {
      const isHeld = object.metadata.finalizers?.includes(sort.finalizer) ?? false
      if (!concerns(object, isHeld)) continue
      const mustBeCleaned = isHeld && sort.isClean !== undefined
      const missing = await missingOf(object, mustBeCleaned, scope)
      const { metadata, spec } = object
      const step = decideLostMove({
        phase: phaseOf(object),
        cancel: spec.cancel === true || metadata.deletionTimestamp !== undefined,
        isHeld,
        mustBeCleaned,
        missing,
        forMs: forMs(metadata.uid ?? '', missing),
      })
      await act(step, object, { ...scope, sort })
    }
  }

  async function reconcile(_key: string, context: ReconcileContext): Promise<Outcome> {
    const scope: Scope = { ...options, ...context, nodes: new Map(), agents: new Map() }
    const [podVolume, dataMove] = [finalizerNames.podVolume, finalizerNames.dataMove]
    await look({ kind: PodVolumeBackupKind, finalizer: podVolume, objects: latest.backups }, scope)
    await look({ kind: PodVolumeRestoreKind, finalizer: podVolume, objects: latest.restores }, scope)
    await look(
      { kind: DataUploadKind, finalizer: dataMove, objects: latest.uploads, isClean: removeExposedSnapshot },
      scope,
    )
    await look(
      { kind: DataDownloadKind, finalizer: dataMove, objects: latest.downloads, isClean: isDiscarded },
      scope,
    )
    const all = [backups, restores, uploads, downloads].flatMap(informer => informer.list() as VolumeMove[])
    const there = new Set(all.map(({ metadata }) => metadata.uid))
    for (const uid of since.keys()) if (!there.has(uid)) since.delete(uid)
    return done()
  }

  const all = () => ['moves']
  return {
    name: 'lost-moves',
    sources: [
      // For their caches: what is to be done comes with time.
      watching({ informer: backups, toKeys: () => [] }),
      watching({ informer: restores, toKeys: () => [] }),
      watching({ informer: uploads, toKeys: () => [] }),
      watching({ informer: downloads, toKeys: () => [] }),
      periodically({ everyMs: EVERY_MS, keys: all }),
    ],
    reconcile,
  }
}

async function isDiscarded(object: DataDownload, scope: MoveScope): Promise<boolean> {
  if (object.status?.phase !== 'Completed' && (await discardVolume(object, scope)) !== 'done') return false
  await removeCopies(object, scope)
  return true
}

interface Scope extends LostMovesOptions, ReconcileContext {
  /** Whether a node exists, as asked in this look. */
  nodes: Map<string, boolean>
  /** Whether a node agent runs on a node, likewise. */
  agents: Map<string, boolean>
}

function phaseOf({ status }: VolumeMove): DataMovePhase {
  return status?.phase || 'New'
}

/** Whether somebody still has to do something about it. What other movers do is none of ours. */
function concerns({ spec, status }: VolumeMove, isHeld: boolean): boolean {
  if ('datamover' in spec && !isBuiltInMover(spec.datamover)) return false
  return !isTerminal(PodVolumeBackupKind, status?.phase) || isHeld
}

async function missingOf(
  object: VolumeMove,
  mustBeCleaned: boolean,
  scope: Scope,
): Promise<Missing | undefined> {
  const found = await nodeOf(object, scope)
  if (typeof found === 'object') return found
  if (found !== '' && !(await nodeExists(found, scope))) return { what: 'node', name: found }
  const { metadata, spec, status } = object
  const isOver = isTerminal(PodVolumeBackupKind, status?.phase)
  const isUnwanted = spec.cancel || metadata.deletionTimestamp !== undefined
  if (isOver ? !mustBeCleaned : !isUnwanted) return undefined
  return (await hasAgent(found, scope)) ? undefined : { what: 'node agent', name: found || 'any node' }
}

async function hasAgent(node: string, { client, namespace, agents, signal }: Scope): Promise<boolean> {
  const known = agents.get(node)
  if (known !== undefined) return known
  const why = await noNodeAgentOn(node, { client, namespace, signal })
  agents.set(node, why === undefined)
  return why === undefined
}

/** The node that it is for; empty where its pod has none yet, or nobody has taken it. */
async function nodeOf({ spec, status }: VolumeMove, { client, signal }: Scope): Promise<string | Missing> {
  if ('node' in spec) return spec.node
  if (status !== undefined && 'node' in status && status.node) return status.node
  if (!('pod' in spec))
    return (status !== undefined && 'acceptedByNode' in status && status.acceptedByNode) || ''
  const { namespace = '', name = '', uid } = spec.pod
  const pod = await client.resource(PodKind, namespace).get(name, { signal }).catch(unlessNotFound)
  if (pod === undefined || (uid && pod.metadata.uid !== uid)) {
    return { what: 'pod', name: `${namespace}/${name}` }
  }
  return pod.spec?.nodeName ?? ''
}

async function nodeExists(name: string, { client, nodes, signal }: Scope): Promise<boolean> {
  const known = nodes.get(name)
  if (known !== undefined) return known
  const node = await client.resource(NodeKind).get(name, { signal }).catch(unlessNotFound)
  nodes.set(name, node !== undefined)
  return node !== undefined
}

interface ActScope<T extends VolumeMove> extends Scope {
  sort: LostSort<T>
}

async function act<T extends VolumeMove>(step: LostStep, object: T, scope: ActScope<T>): Promise<void> {
  const { client, clock, sort, log, signal } = scope
  const { kind, objects } = sort
  const { name } = object.metadata
  const ports = { client, latest: objects, signal }
  if (step.type === 'leave') return
  if (step.type === 'release') return release(object, scope)
  const phase: DataMovePhase = step.type === 'fail' ? 'Failed' : 'Canceled'
  const now = formatTime(clock.now())
  const status = {
    ...{ phase, message: step.message, completionTimestamp: now },
    startTimestamp: object.status?.startTimestamp ?? now,
  }
  const body = { metadata: { labels: { [labelNames.exposeOnGoing]: null } }, status }
  const written = await patchInPhase<T>(object, { kind, body }, ports)
  if (written !== undefined)
    log.warn({ kind: kind.kind, name, phase, reason: step.message }, 'volume data: lost work is ended')
}

/** Lets an object go when what was made for it is gone. */
async function release<T extends VolumeMove>(object: T, scope: ActScope<T>): Promise<void> {
  const { client, sort, log, signal } = scope
  const { name = '', namespace, resourceVersion, finalizers = [] } = object.metadata
  if (sort.isClean !== undefined) {
    const pod = await client.resource(PodKind, namespace).get(name, { signal }).catch(unlessNotFound)
    if (pod !== undefined && isOwnedBy(pod, object)) return removeMover(pod, { client, signal })
    const isClean = await sort.isClean(object, scope).catch((error: unknown) => {
      signal.throwIfAborted()
      log.warn(
        { error, kind: sort.kind.kind, name },
        'volume data: what lost work made cannot be removed yet',
      )
      return false
    })
    if (!isClean) return
  }
  const left = finalizers.filter(finalizer => finalizer !== sort.finalizer)
  const body = { metadata: { resourceVersion, finalizers: left } }
  const patch = { type: 'merge', body } as const
  await patchObject<T>(object, { kind: sort.kind, patch }, { client, latest: sort.objects, signal })
}
