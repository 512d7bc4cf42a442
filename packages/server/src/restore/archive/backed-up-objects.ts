import type { BackedUpObjects } from '@lateen/plugin'
import { groupResource } from '../../item/item.ts'
import type { BackupArchive } from './backup-archive.ts'
import { readObject } from './read-object.ts'

/** The objects of an archive, for actions. Reading throws ArchivedObjectError and ScratchError. */
export function backedUpObjects(archive: BackupArchive): BackedUpObjects {
  return {
    async read({ group, resource, namespace, name }) {
      const type = groupResource({ group, plural: resource })
      const found = archive.find({ groupResource: type, namespace, name })
      return found && readObject(archive, found)
    },
    async *list({ group, resource }) {
      for (const item of archive.items(groupResource({ group, plural: resource }))) {
        yield await readObject(archive, item)
      }
    },
  }
}
