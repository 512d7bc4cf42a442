import { type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import type { ResourceType } from '@lateen/kube'
import { type UploaderConfig, type UploaderProvider, unifiedUploaderProvider } from '@lateen/repo/unified'
import { ensureRepository } from '../backup-repository/ensure-repository.ts'
import { kopiaAccess, type RepositoryPorts } from '../backup-repository/repository-access.ts'
import { passwordSecret } from '../backup-repository/repository-password.ts'
import { type AwaitPorts, awaitStart, type MoveObject, watchForCancel } from './await-start.ts'
import { canceledWords, failureWords } from './mover-message.ts'
import { type MoverReports, moverReports } from './mover-reports.ts'

/** What a mover is told on its command line. */
export interface MoverOptions {
  /** The name of its object. */
  readonly name: string
  /** The volume, in the mover's file system. */
  readonly volumePath: string
  readonly resourceTimeoutMs: number
  readonly node: string
}

export interface MoverPorts extends AwaitPorts, RepositoryPorts {}

/** How a mover ends: what it says last, and whether that is good. */
export interface MoverEnding {
  readonly well: boolean
  readonly lastWords: string
}

const whereThePasswordIs = `It is in the Secret ${passwordSecret.name} of the installation's namespace`

/** What a mover works with once its object is InProgress. */
export interface MoveScope {
  uploader: UploaderProvider
  reports: MoverReports
  signal: AbortSignal
}

/** What tells the work of one mover from that of others. */
export interface MoverWork<T extends MoveObject> {
  kind: ResourceType<T>
  /** Under which its snapshots are filed. */
  requester: string
  place(object: T): { location: string; volumeNamespace: string }
  /** Throws where the volume is not what it was when it was mounted. */
  confirm?(object: T, signal: AbortSignal): Promise<void>
  /** Returns what there is to say of it last. */
  move(object: T, scope: MoveScope): Promise<string>
}

/** Does what an object says once that is InProgress, and stops when it is to be cancelled. */
export async function runMover<T extends MoveObject>(
  { name, resourceTimeoutMs, node }: Omit<MoverOptions, 'volumePath'>,
  ports: MoverPorts,
  work: MoverWork<T>,
): Promise<MoverEnding> {
  const { client, clock, namespace, log } = ports
  const object = await awaitStart<T>(work.kind, name, ports)
  if (object.spec.cancel) return { well: false, lastWords: canceledWords }
  const reports = moverReports(object, { client, clock, log, node, signal: ports.signal })
  const canceling = new AbortController()
  const over = new AbortController()
  const signal = AbortSignal.any([ports.signal, canceling.signal])
  const watching = watchForCancel<T>(work.kind, name, {
    ...{ client, clock, log, namespace, signal: AbortSignal.any([ports.signal, over.signal]) },
    cancel: () => {
      void reports.tell('canceling', `Canceling ${name}`)
      canceling.abort()
    },
  })
  try {
    await work.confirm?.(object, signal)
    const { location, volumeNamespace } = work.place(object)
    const key = { volumeNamespace, backupStorageLocation: location, repositoryType: 'kopia' }
    const repository = await ensureRepository(key, {
      ...{ client, clock, namespace, timeoutMs: resourceTimeoutMs, signal },
    })
    const found = await locationOf(location, ports)
    const target = { key, location: found, config: repository.spec.repositoryConfig }
    const { repo, service } = await kopiaAccess(target, ports, signal)
    await using uploader = unifiedUploaderProvider({ service, repo, requester: work.requester, log })
    await reports.tell('started', `Data path for ${name} started`)
    const lastWords = await work.move(object, { uploader, reports, signal })
    await reports.tell('completed', lastWords)
    return { well: true, lastWords }
  } catch (error) {
    return await failed(error, { reports, isCanceled: canceling.signal.aborted, name })
  } finally {
    over.abort()
    await watching
    await reports.tell('stopped', `Data path for ${name} stopped`)
    await reports.settled()
  }
}

async function failed(
  error: unknown,
  { reports, isCanceled, name }: { reports: MoverReports; isCanceled: boolean; name: string },
): Promise<MoverEnding> {
  if (isCanceled) {
    await reports.tell('canceled', `Data path for ${name} canceled`)
    return { well: false, lastWords: canceledWords }
  }
  const isPassword = error instanceof Error && 'code' in error && error.code === 'BAD_PASSWORD'
  const lastWords = `${failureWords(error)}${isPassword ? `. ${whereThePasswordIs}` : ''}`
  await reports.tell('failed', `Data path for ${name} failed, error ${lastWords}`)
  return { well: false, lastWords }
}

function locationOf(name: string, { client, namespace, signal }: MoverPorts): Promise<BackupStorageLocation> {
  return client.resource(BackupStorageLocationKind, namespace).get(name, { signal })
}

/** The settings of an object, by Velero's names; what is no number of files means the usual. */
export function uploaderConfig(
  settings: Readonly<Record<string, string>> | null | undefined,
): UploaderConfig {
  const count = (text: string | undefined) => (/^[1-9]\d{0,5}$/.test(text ?? '') ? Number(text) : undefined)
  const up = count(settings?.ParallelFilesUpload)
  const down = count(settings?.ParallelFilesDownload)
  return {
    ...(up !== undefined && { parallelFilesUpload: up }),
    ...(down !== undefined && { parallelFilesDownload: down }),
    ...(settings?.WriteSparseFiles === 'true' && { writeSparseFiles: true }),
  }
}
