import type {
  DataDownload,
  DataUpload,
  KindDescription,
  PodVolumeBackup,
  PodVolumeRestore,
} from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { Pod } from '../data-path/mover-state.ts'

/** What movers do. */
export type VolumeMove = PodVolumeBackup | PodVolumeRestore | DataUpload | DataDownload

/** What a sort of work is done with. */
export interface MoveScope {
  client: KubeClient
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/** What comes of one try: it is done, or there is more to do after a while, or when something is seen that is watched. */
export type Progressed = 'done' | { readonly afterMs: number }

/** What tells one sort of work from another. The pod of a mover has the name of its object, which owns it. */
export interface MoveSort<T extends VolumeMove> {
  readonly name: string
  readonly kind: KindDescription<T>
  /** On the pods of its movers, with the name of the object. */
  readonly label: string
  /** Keeps an object until what was made for it is gone. */
  readonly finalizer: string
  /** Whether this node agent is the one to take the next step. */
  isOurs(object: T, mover: Pod | undefined): boolean
  isReady(object: T): boolean
  /** Whether it is for no node so far. */
  isNobodys(object: T): boolean
  /** Whether a mover that runs is on the node of this node agent. */
  isHere(mover: Pod): boolean
  /**
   * Has the pod of the mover started, or does what has to be done before; called again until that pod is there. Throws a `DataPathError` for
   * what will never be exposed, and KubeErrors.
   */
  expose(object: T, scope: MoveScope): Promise<Progressed>
  /** Throws a `DataPathError` where what is being prepared is for nothing by now. */
  confirm?(object: T, scope: MoveScope): Promise<void>
  /** More about what is in the way of a mover that does not come up, for people. */
  diagnose?(object: T, scope: MoveScope): Promise<string[]>
  /**
   * Does what is left when a mover has done its part, before the object is Completed; called again until it is done, by another node agent, too,
   * and whether or not the mover's pod is still there. Throws a `DataPathError` for what will never be done.
   */
  finish?(object: T, scope: MoveScope): Promise<Progressed>
  /** Removes what was made for an object that is over, beside the mover's pod, which is gone by then; called again until nothing is left. */
  cleanUp?(object: T, scope: MoveScope): Promise<Progressed>
  /** The status of one that is accepted, prepared or started, beside its phase and times. */
  accepted(object: T): object
  prepared?(object: T, mover: Pod): object
  started?(object: T, mover: Pod): object
  /** The status of one that is done, by the last words of its mover; undefined when these tell nothing. */
  completed(lastWords: string): object | undefined
}
