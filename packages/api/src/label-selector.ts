import { array, atomic, map, object, required, string, strings } from './schema/build.ts'
import type { Infer, Schema } from './schema/schema.ts'

const requirement = object('One condition on a label; all conditions must hold.', {
  key: required(string('The label the condition is about.')),
  operator: required(string('In, NotIn, Exists or DoesNotExist.')),
  values: atomic(strings('What In and NotIn compare with; empty for the other two.')),
})

/** Which objects are meant, by their labels. */
export interface LabelSelector extends Infer<typeof selector> {}

const selector = object('', {
  matchExpressions: atomic(array('Conditions that must all hold.', requirement)),
  matchLabels: map('Labels that must have exactly these values.'),
})

/** The schema of a {@link LabelSelector}. */
export function labelSelector(description: string): Schema<LabelSelector> {
  return atomic({ ...selector, description })
}
