import { atomic, object, required, string } from './schema/build.ts'
import type { Infer, Schema } from './schema/schema.ts'

const anyReference = object('', {
  apiVersion: string('Group and version of the object.'),
  fieldPath: string('The part of the object that is meant.'),
  kind: string('Kind of the object.'),
  name: string('Name of the object.'),
  namespace: string('Namespace of the object.'),
  resourceVersion: string('The version of the object that is meant.'),
  uid: string('Identity of the object, which a successor of the same name does not share.'),
})

/** Points to an object anywhere in the cluster. */
export interface ObjectReference extends Infer<typeof anyReference> {}

/** The schema of an {@link ObjectReference}. */
export function objectReference(description: string): Schema<ObjectReference> {
  return atomic({ ...anyReference, description })
}

const localReference = object('', {
  apiGroup: string('Group of the object; empty for the core group.'),
  kind: required(string('Kind of the object.')),
  name: required(string('Name of the object.')),
})

/** Points to an object of a given kind in the same namespace. */
export interface LocalObjectReference extends Infer<typeof localReference> {}

/** The schema of a {@link LocalObjectReference}. */
export function localObjectReference(description: string): Schema<LocalObjectReference> {
  return atomic({ ...localReference, description })
}
