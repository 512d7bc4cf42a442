import { enumeration } from './schema/build.ts'
import type { Infer } from './schema/schema.ts'

/** The schema of an {@link UploaderType}. */
export const uploaderType = enumeration('The format that volume data is stored in.', ['kopia', 'restic', ''])

/** The format that volume data is stored in; empty in objects of releases that knew only one. */
export type UploaderType = Infer<typeof uploaderType>

/** The format of a BackupRepository. One that says nothing was made when there was only restic. */
export function repositoryTypeOf(spec: { repositoryType?: UploaderType | undefined }): 'kopia' | 'restic' {
  return spec.repositoryType === 'kopia' ? 'kopia' : 'restic'
}
