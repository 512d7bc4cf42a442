import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Backup } from '@lateen/api'
import { type Clock, type KubeClient, type Logger, silentLogger } from '@lateen/kube'
import { collectItems } from '../backup/collect/collect-items.ts'
import { observeCluster, observeNamespaces } from '../backup/observe-facts.ts'
import { prepareBackup } from '../backup/prepare/prepare-backup.ts'
import { resolveScope } from '../backup/scope/resolve-scope.ts'
import { diffArchives } from '../diff/diff-archives.ts'
import { diffLive } from '../diff/diff-live.ts'
import { createSecretMask, showSecrets } from '../diff/mask-secrets.ts'
import type { ChangeKind, ObjectChange } from '../diff/object-change.ts'
import { type ChangeDetail, type ShownChange, showChange } from '../diff/shown-change.ts'
import type { CollectedItems } from '../item/item.ts'
import { messageOf } from '../item/item-error.ts'
import type { BackupArchive } from '../restore/archive/backup-archive.ts'
import { openBackupArchive } from '../restore/archive/open-backup-archive.ts'
import { localLocation, temporaryFolder } from './local-folder.ts'
import { serverDefaults } from './server-options.ts'

/** What to compare. */
export interface BackupDiffOptions {
  client: KubeClient
  clock: Clock
  namespace: string
  before: Backup
  /** Another backup, or what the first one would take from the cluster now. */
  after: Backup | 'live'
  /** Brings the archive of a backup. */
  contents(backup: Backup): AsyncIterable<Uint8Array>
  withStatus: boolean
  detail: ChangeDetail
  showSecrets: boolean
  /** Hears of what could not be compared. */
  onNote(note: string): void
}

/** An object that is not the same, as it is shown. */
export interface ShownDifference extends ShownChange {
  readonly change: ChangeKind
  readonly apiVersion: string
  readonly kind: string
  /** Empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
}

/** A backup that cannot be compared with the cluster. */
export class BackupDiffError extends Error {
  override readonly name = 'BackupDiffError'
  readonly code = 'INVALID_BACKUP'
  readonly hint = 'compare it with another backup'

  constructor({ metadata }: Backup, problems: readonly string[]) {
    super(`nobody can say what backup ${metadata.name} would take now: ${problems.join('; ')}`)
  }
}

/**
 * What is different in a later backup, or in the cluster since. Objects come one by one. Throws BackupDiffError, ArchiveError,
 * KubeErrors, what `contents` throws, and the signal's reason.
 */
export async function* diffBackups(
  options: BackupDiffOptions,
  signal: AbortSignal,
): AsyncGenerator<ShownDifference> {
  const { before, after, withStatus } = options
  await using scratch = await temporaryFolder()
  await using old = await openContents(before, {
    options,
    folder: path.join(scratch.folder, 'before'),
    signal,
  })
  const place = { options, folder: path.join(scratch.folder, 'after'), signal }
  if (after === 'live') {
    await using collected = await collectLive(place)
    const side = { client: options.client, collected, onNote: options.onNote }
    yield* shown(diffLive(old, side, { withStatus, signal }), options)
  } else {
    await using now = await openContents(after, place)
    yield* shown(diffArchives(old, now, { withStatus, signal }), options)
  }
}

interface DiffPlace {
  options: BackupDiffOptions
  folder: string
  signal: AbortSignal
}

async function openContents(backup: Backup, { options, folder, signal }: DiffPlace): Promise<BackupArchive> {
  await mkdir(folder)
  return openBackupArchive({ stream: options.contents(backup), scratch: folder, signal })
}

/** Everything that the first backup would take now, except what its actions would bring along. */
async function collectLive({ options, folder, signal }: DiffPlace): Promise<CollectedItems> {
  const { client, clock, namespace, before } = options
  await mkdir(folder)
  const facts = await observeCluster(before, { client, namespace, globalVolumePolicies: '', signal })
  const location = before.spec.storageLocation || 'default'
  const prepared = prepareBackup({
    backup: { ...before, spec: { ...before.spec, storageLocation: location, volumeSnapshotLocations: [] } },
    facts: { ...facts, locations: [localLocation(location, namespace)], snapshotLocations: [] },
    defaults: serverDefaults.backupDefaults,
    now: clock.now(),
  })
  if (prepared.validationErrors.length > 0) throw new BackupDiffError(before, prepared.validationErrors)
  const scope = resolveScope({
    backup: prepared.backup,
    policies: prepared.policies,
    discovery: await client.discovery.preferred({ signal }),
    namespaces: await observeNamespaces(client, { signal }),
  })
  return collectItems({ client, scope, scratch: folder, log: noteErrors(options.onNote) }, signal)
}

/** A log of which only errors are heard. */
function noteErrors(onNote: (note: string) => void): Logger {
  return {
    ...silentLogger,
    error: ({ error, resource = '', namespace = '' }: ErrorFields, message) =>
      onNote(
        [message, resource, namespace, error === undefined ? '' : messageOf(error)]
          .filter(part => part !== '')
          .join(': '),
      ),
    child: () => noteErrors(onNote),
  }
}

interface ErrorFields {
  error?: unknown
  resource?: string
  namespace?: string
}

async function* shown(
  changes: AsyncIterable<ObjectChange>,
  { detail, before, after, showSecrets: asTheyAre }: BackupDiffOptions,
): AsyncGenerator<ShownDifference> {
  const mask = asTheyAre ? showSecrets : createSecretMask(randomBytes(32))
  const sides = { before: before.metadata.name, after: after === 'live' ? 'live' : after.metadata.name }
  for await (const { change, namespace, name, ...objects } of changes) {
    const { apiVersion = '', kind = '' } = objects.after ?? objects.before ?? {}
    const place = `${apiVersion}/${kind}/${namespace === '' ? name : `${namespace}/${name}`}`
    const names = { before: `${sides.before}/${place}`, after: `${sides.after}/${place}` }
    yield { change, apiVersion, kind, namespace, name, ...showChange(objects, { detail, mask, names }) }
  }
}
