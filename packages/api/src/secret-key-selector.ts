import { atomic, boolean, object, required, string } from './schema/build.ts'
import type { Infer, Schema } from './schema/schema.ts'

const selector = object('', {
  key: required(string('The key inside the secret.')),
  name: string('Name of the secret.', { default: '' }),
  optional: boolean('Whether the secret or its key may be missing.'),
})

/** Points to one key of a secret in the same namespace. */
export interface SecretKeySelector extends Infer<typeof selector> {}

/** The schema of a {@link SecretKeySelector}. */
export function secretKeySelector(description: string): Schema<SecretKeySelector> {
  return atomic({ ...selector, description })
}
