import type { Readable } from 'node:stream'
import { type DeleteItemAction, isPluginError } from '@lateen/plugin'
import { resourceResolver } from '../filters/resource-names.ts'
import { describeItem, messageOf } from '../item/item-error.ts'
import { type ActionTable, type ResolvedAction, resolveActions } from '../item/resolve-actions.ts'
import { ArchiveError } from '../restore/archive/archive-error.ts'
import type { ArchivedItem, BackupArchive } from '../restore/archive/backup-archive.ts'
import { openBackupArchive } from '../restore/archive/open-backup-archive.ts'
import { readObject } from '../restore/archive/read-object.ts'
import { createScratchFolder } from '../scratch/scratch-folder.ts'
import type { DeletionScope, DeletionStep } from './deletion-step.ts'

/**
 * Tells the delete item actions of every object in the archive that is theirs. An action that fails is logged, and nothing else, as
 * everywhere; one that could not be asked is asked again. Without an archive there is nothing to tell.
 */
export const runDeleteActions: DeletionStep = {
  name: 'delete-item-actions',
  runs: 'always',
  once: true,
  async run(scope) {
    const { backup, store, plugins, client, log, signal } = scope
    const registered = plugins.deleteItemActions()
    if (store === undefined || registered.length === 0) return []
    const { name = '' } = backup.metadata
    const stream = await store.get({ of: 'backup', name, file: 'contents' }, signal)
    if (stream === undefined) {
      log.info({ backup: name }, 'the deleted backup has no archive, and delete item actions nothing to do')
      return []
    }
    await using scratch = await createScratchFolder(scope.scratch, 'deletion')
    await using archive = await openArchive(stream, scratch.folder, scope)
    if (archive === undefined) return []
    const resolve = resourceResolver(await client.discovery.preferred({ signal }))
    return await tellAll(archive, await resolveActions(registered, resolve), scope)
  },
}

/** Undefined when it is damaged: then it stays so, and is no reason to keep the backup. */
async function openArchive(
  stream: Readable,
  scratch: string,
  { backup, log, signal, warn }: DeletionScope,
): Promise<BackupArchive | undefined> {
  try {
    return await openBackupArchive({ stream, scratch, signal })
  } catch (error) {
    if (!(error instanceof ArchiveError)) {
      throw new Error(`error downloading backup tarball: ${messageOf(error)}`, { cause: error })
    }
    log.warn({ error, backup: backup.metadata.name }, 'the archive of a deleted backup cannot be read')
    await warn(
      'BackupArchiveDamaged',
      `${error.message}. Delete item actions were not told of its objects: what they would have removed is left`,
    )
    return undefined
  } finally {
    stream.destroy()
  }
}

async function tellAll(
  archive: BackupArchive,
  actions: ActionTable<DeleteItemAction>,
  scope: DeletionScope,
): Promise<string[]> {
  const unreachable: string[] = []
  for (const { groupResource } of archive.types) {
    for (const item of archive.items(groupResource)) {
      const candidates = actions.forPlace(item.groupResource, item.namespace)
      if (candidates.length > 0) unreachable.push(...(await tell({ archive, item, candidates }, scope)))
    }
  }
  return unreachable
}

interface Telling {
  archive: BackupArchive
  item: ArchivedItem
  candidates: readonly ResolvedAction<DeleteItemAction>[]
}

/** Returns which actions could not be told. */
async function tell({ archive, item, candidates }: Telling, scope: DeletionScope): Promise<string[]> {
  const { backup, log, signal } = scope
  const unreachable: string[] = []
  const fields = { backup: backup.metadata.name, item: describeItem(item) }
  const object = await readObject(archive, item).catch((error: unknown) => {
    log.warn({ ...fields, error }, 'delete item actions are not told of an object that cannot be read')
    return undefined
  })
  if (object === undefined) return []
  for (const { name, action, matches } of candidates) {
    if (!matches(object.metadata.labels)) continue
    try {
      await action.execute({ item: object, backup, signal })
    } catch (error) {
      signal.throwIfAborted()
      log.error({ ...fields, action: name, error }, 'a delete item action failed')
      if (isPluginError(error) && error.transport) {
        unreachable.push(`error invoking delete item actions: ${describeItem(item)}: ${error.message}`)
      }
    }
  }
  return unreachable
}
