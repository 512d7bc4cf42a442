import { enumeration } from './schema/build.ts'
import type { Infer } from './schema/schema.ts'

/** The schema of a {@link NodeOS}. */
export const nodeOS = enumeration('The operating system of the node that moves the data.', [
  'auto',
  'linux',
  'windows',
])

/** The operating system of a node that moves data. */
export type NodeOS = Infer<typeof nodeOS>
