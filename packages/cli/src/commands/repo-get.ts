import { BackupRepositoryKind } from '@lateen/api'
import type { CommandResult } from '../output/command-result.ts'
import { repositoryColumns } from '../output/repository-columns.ts'
import type { CommandCall } from '../tree/command.ts'
import type { repoGetFlags } from '../tree/repo.ts'
import { findObjects, type KindWords, objectClient } from './object-client.ts'
import { objectsResult } from './objects-result.ts'

const words: KindWords = {
  one: 'repository',
  many: 'repositories',
  missingHint: "'lateen repo get' lists those that do",
  takenHint: () => 'choose another name',
}

/** `repo get [NAMES]`: the named repositories, or all that match. A name that does not exist is an error. */
export async function run(call: CommandCall<typeof repoGetFlags>): Promise<CommandResult> {
  const { flags, args } = call
  const { signal } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const repositories = objectClient(BackupRepositoryKind, { client, namespace, signal }, words)
  const objects = await findObjects(repositories, args, flags.selector)
  return objectsResult(BackupRepositoryKind, { objects, columns: repositoryColumns, flags })
}
