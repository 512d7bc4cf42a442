import { integer, object } from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'

/** The schema of a {@link HookStatus}. */
export const hookStatus = object('How the hooks went.', {
  hooksAttempted: integer('Hooks that were run.'),
  hooksFailed: integer('Hooks that failed.'),
})

/** How the hooks of a backup or restore went. */
export interface HookStatus extends Infer<typeof hookStatus> {}
