import { type Backup, BackupStorageLocationKind } from '@lateen/api'
import { type Clock, type KubeClient, type Logger, patiently } from '@lateen/kube'
import { chooseStorageLocation } from '../backup/prepare/choose-storage-location.ts'
import type { BackupDefaults, PreparedBackup } from '../backup/prepare/prepare-backup.ts'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type ClaimPorts, claimName, claimOf } from '../backup-store/claim-name.ts'
import { type LocationPorts, openLocation, openPatiently } from '../backup-store/open-location.ts'

export interface PlaceScope {
  client: KubeClient
  ports: LocationPorts
  clock: Clock
  random: () => number
  log: Logger
  signal: AbortSignal
}

/**
 * Opens the store and takes the backup's name there. This comes before the backup is in progress, so that whatever
 * lies under the name of an interrupted backup is its own.
 */
export async function openPlace(
  { backup, storageLocation }: PreparedBackup,
  { ports, clock, random, log, signal }: PlaceScope,
): Promise<{ store: BackupStore } & AsyncDisposable> {
  if (storageLocation === undefined) throw new Error('the backup has no storage location')
  const location = await openPatiently(storageLocation, ports, { clock, log, signal })
  try {
    const store = createBackupStore({ location, clock, random })
    await takeName(backup, { store, clock, random, signal })
    return { store, [Symbol.asyncDispose]: () => location[Symbol.asyncDispose]() }
  } catch (error) {
    await location[Symbol.asyncDispose]()
    throw error
  }
}

async function takeName(backup: Backup, ports: ClaimPorts): Promise<void> {
  if (await claimName(claimOf(backup), ports)) return
  throw new Error(
    'backup already exists in object storage: its folder in the bucket is not empty, or a server of another cluster is taking a backup of this name. Choose another name, or delete what is there',
  )
}

/**
 * Lets others have the name of a backup that did not begin. One that was changed in this moment may be begun again, which takes the name again, or
 * cancelled or deleted, by whoever does not look into the bucket.
 */
export async function beginOrRelease(
  begin: () => Promise<Backup | undefined>,
  { backup, store }: { backup: Backup; store: BackupStore },
  scope: PlaceScope,
): Promise<Backup | undefined> {
  try {
    const started = await patiently(begin, scope)
    if (started === undefined) await store.deleteClaim(claimOf(backup), scope.signal)
    return started
  } catch (error) {
    // The next server goes on with it.
    if (!scope.signal.aborted) {
      await store.deleteClaim(claimOf(backup), scope.signal).catch(() => undefined)
    }
    throw error
  }
}

/** Removes the claim of a backup whose metadata are in the bucket: beside these it says nothing, and whoever may not delete there ends the backup all the same. */
export async function releaseName(
  backup: Backup,
  { store, log, signal }: { store: Pick<BackupStore, 'deleteClaim'>; log: Logger; signal: AbortSignal },
): Promise<void> {
  await store.deleteClaim(claimOf(backup), signal).catch((error: unknown) => {
    signal.throwIfAborted()
    log.warn({ error, backup: backup.metadata.name }, 'the claim of a backup could not be removed')
  })
}

/** Removes the claim of a backup that never began, where that can be done now. */
export async function releaseClaim(
  backup: Backup,
  scope: PlaceScope & { defaults: Pick<BackupDefaults, 'storageLocation'> },
): Promise<void> {
  const { client, ports, clock, random, log, signal } = scope
  try {
    const locations = client.resource(BackupStorageLocationKind, backup.metadata.namespace).list({ signal })
    const all = await locations.toArray()
    // Which one it is, is written down only when the backup begins.
    const { found } = chooseStorageLocation(backup.spec, all, scope.defaults.storageLocation)
    if (found === undefined) return
    await using opened = await openLocation(found, ports, signal)
    await createBackupStore({ location: opened, clock, random }).deleteClaim(claimOf(backup), signal)
  } catch (error) {
    signal.throwIfAborted()
    log.debug({ error, backup: backup.metadata.name }, 'the bucket was not asked for a claim of a backup')
  }
}
