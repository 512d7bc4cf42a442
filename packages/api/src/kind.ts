import type { ObjectMeta } from './object-meta.ts'
import type { PhaseMachine } from './phase-machine.ts'
import type { Schema } from './schema/schema.ts'

/** The API group of all kinds here. */
export const veleroGroup = 'velero.io'

/**
 * An object of one of our kinds. The API server also accepts one without `spec`;
 * `readObject` fills it in, so code behind that door may rely on it.
 */
export interface CustomObject<Spec = object, Status = object> {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: Spec
  status?: Status
}

/** A column that `kubectl get` shows. */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean' | 'date'
  readonly jsonPath: string
  readonly description?: string
  readonly format?: 'int64'
  /** Above 0 the column shows only with `-o wide`. */
  readonly priority?: number
}

type PhaseOf<T> = T extends { status?: { phase?: infer P extends string } } ? P : string

/** All there is to know about a kind. Structurally a `ResourceType<T>` of the kube package. */
export interface KindDescription<T extends CustomObject = CustomObject, P extends string = PhaseOf<T>> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly namespaced: true
  readonly description: string
  readonly schema: { readonly spec: Schema<T['spec']>; readonly status: Schema<NonNullable<T['status']>> }
  readonly printerColumns: readonly PrinterColumn[]
  /** Missing when nothing moves objects of this kind through phases. */
  readonly phases?: PhaseMachine<P>
  /** Exists only for inference and is never set. */
  readonly objectType?: T
}

/** What a file of a kind states; the rest of the description follows from it. */
export type KindFacts<T extends CustomObject> = Pick<
  KindDescription<T>,
  'kind' | 'plural' | 'description' | 'schema'
> &
  Partial<Pick<KindDescription<T>, 'version' | 'shortNames' | 'printerColumns' | 'phases'>>

/** Completes the facts of a kind with what all velero.io kinds share. */
export function describeKind<T extends CustomObject>(facts: KindFacts<T>): KindDescription<T> {
  return {
    group: veleroGroup,
    version: 'v1',
    singular: facts.kind.toLowerCase(),
    shortNames: [],
    namespaced: true,
    printerColumns: [],
    ...facts,
  }
}

/** The `apiVersion` of objects of a kind, such as `velero.io/v1`. */
export function apiVersionOf(kind: Pick<KindDescription, 'group' | 'version'>): string {
  return `${kind.group}/${kind.version}`
}
