import { type DataDownload, type DataUpload, DataUploadKind, finalizerNames, isTerminal } from '@lateen/api'
import { type Informer, joinKey, type KubeObject, type Source, watching } from '@lateen/kube'

type DataMove = DataUpload | DataDownload

/** The moves of data that backups or restores wait for, as far as this process has seen. */
export interface EndedMoves {
  /** Enqueues the Backup or Restore that owns a move when the move is over. */
  readonly source: Source
  /** Whether it owns moves and all of them are over, with everything that was made for them. */
  areOver(owner: KubeObject): boolean
}

/** So that nobody who waits for moves has to look again and again whether they are over. */
export function endedMoves<T extends DataMove>(informer: Informer<T>): EndedMoves {
  return {
    source: watching({
      informer,
      predicate: event => event.type === 'updated' && isOver(event.object) && !isOver(event.previous),
      toKeys: ({ metadata }) =>
        (metadata.ownerReferences ?? []).map(({ name }) => joinKey({ namespace: metadata.namespace, name })),
    }),
    areOver: owner => areAllOver(informer.list(), owner),
  }
}

/** Whether there are moves of an owner, and all of them are over. */
export function areAllOver(moves: readonly DataMove[], { metadata: { uid } }: KubeObject): boolean {
  const own = moves.filter(({ metadata }) => metadata.ownerReferences?.some(owner => owner.uid === uid))
  return own.length > 0 && own.every(isOver)
}

/** Both kinds have the same phases. */
function isOver({ metadata, status }: DataMove): boolean {
  return isTerminal(DataUploadKind, status?.phase) && !metadata.finalizers?.includes(finalizerNames.dataMove)
}
