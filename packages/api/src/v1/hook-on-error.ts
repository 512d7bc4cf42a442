import { enumeration } from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'

/** The schema of a {@link HookOnError}. */
export const hookOnError = enumeration('Whether to go on when the hook fails.', ['Continue', 'Fail'])

/** Whether to go on when a hook fails. */
export type HookOnError = Infer<typeof hookOnError>
