import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { type Backup, BackupKind, type BackupSpec } from '@lateen/api'
import { type Clock, type KubeClient, type KubeObject, systemClock } from '@lateen/kube'
import { createArchive } from '../../packages/server/src/backup/archive/create-archive.ts'
import type { BackupOutcome, BackupPorts } from '../../packages/server/src/backup/backup-request.ts'
import { collectItems } from '../../packages/server/src/backup/collect/collect-items.ts'
import { runBackup } from '../../packages/server/src/backup/run-backup.ts'
import { builtInBackupActions } from '../../packages/server/src/builtin-actions/built-in-backup-actions.ts'
import { createBackupLog } from '../../packages/server/src/report/backup-log.ts'
import type { Results } from '../../packages/server/src/report/report.ts'
import { noVolumeBackup } from '../../packages/server/src/volumes/volume-backup.ts'
import { createBlockWorkers } from '../../packages/server/src/workers/block-workers.ts'

/** How a test wants its backup taken. */
export interface TakeOptions {
  client: KubeClient
  spec: BackupSpec
  name?: string
  workers?: number
  clock?: Clock
  features?: ReadonlySet<string>
  signal?: AbortSignal
  ports?: Partial<BackupPorts>
  policies?: Parameters<typeof runBackup>[0]['policies']
  /** Happens when it is known which types there are, and nothing has been listed yet. */
  beforeCollecting?(): Promise<void>
}

/** A backup, unpacked. */
export interface TakenBackup {
  outcome: BackupOutcome
  /** Paths in the archive, in order. */
  paths: string[]
  read(path: string): Promise<KubeObject>
  results: Results
  log: string
}

/** Takes a backup with the engine alone: no controller, no bucket. `use` gets it unpacked; afterwards all of it is gone. */
export async function takeBackup<T>(
  options: TakeOptions,
  use: (taken: TakenBackup) => Promise<T>,
): Promise<T> {
  const { client, spec, clock = systemClock, features = new Set() } = options
  const signal = options.signal ?? new AbortController().signal
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'lateen-backup-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(scratch, { recursive: true, force: true }))
  const log = cleanup.use(await createBackupLog({ scratch, level: 'debug', format: 'text', clock }))
  const archive = cleanup.use(await createArchive({ scratch, modified: clock.now(), signal }))
  const workers = cleanup.use(createBlockWorkers({ count: options.workers ?? 1 }))
  const ports: BackupPorts = {
    client,
    clock,
    log,
    archive,
    workers,
    volumes: noVolumeBackup,
    collect: async (scope, until) => {
      await options.beforeCollecting?.()
      return collectItems({ client, scope, scratch, log, features }, until)
    },
    ...builtInBackupActions({ client, apiGroupVersions: features.has('EnableAPIGroupVersions') }),
    ...options.ports,
  }
  const request = { backup: backupOf(spec, options.name ?? 'test'), policies: options.policies, features }
  const outcome = await runBackup(request, ports, signal)
  const run = promisify(execFile)
  const { stdout } = await run('tar', ['-tzf', outcome.archive.path], { maxBuffer: 1 << 28 })
  const read = async (entry: string) => {
    const extract = ['-xzOf', outcome.archive.path, entry]
    return JSON.parse((await run('tar', extract, { maxBuffer: 1 << 28 })).stdout)
  }
  const lines = await gunzipped(await log.open())
  return await use({ outcome, paths: stdout.trim().split('\n'), read, results: log.results, log: lines })
}

/** The names that the resource list has for a type such as `v1/Pod`. */
export function listedAs(
  type: string,
  { resourceList }: Pick<BackupOutcome, 'resourceList'>,
): readonly string[] {
  return new Map(Object.entries(resourceList)).get(type) ?? []
}

async function gunzipped(source: AsyncIterable<Uint8Array>): Promise<string> {
  return text(Readable.from(source).pipe(createGunzip()))
}

function backupOf(spec: BackupSpec, name: string): Backup {
  const { group, version, kind } = BackupKind
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name, namespace: 'velero', uid: '00000000-0000-4000-8000-000000000001' },
    spec,
  }
}
