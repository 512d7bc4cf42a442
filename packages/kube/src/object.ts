/** A reference from an object to the one that owns it. */
export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** The metadata every Kubernetes object carries. */
export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: unknown[]
}

/** What all kinds have in common. Typed kinds extend it structurally. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

/** An object of a kind that is only known at run time. */
export interface Unstructured extends KubeObject {
  [field: string]: unknown
}

/**
 * Where objects of one kind live in the API. Kind descriptions of other packages fit structurally;
 * `objectType` exists only for inference and is never set.
 */
export interface ResourceType<T extends KubeObject = Unstructured> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly objectType?: T
}
