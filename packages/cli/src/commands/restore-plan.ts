import path from 'node:path'
import type { Backup, DownloadTargetKind } from '@lateen/api'
import type { PlanFiles, RestorePlanOptions, ShownPlan } from '@lateen/server'
import { CliError } from '../cli-error.ts'
import type { DownloadPorts } from '../download/download-ports.ts'
import { downloadJson, streamDownload } from '../download/stream-download.ts'
import type { CommandResult } from '../output/command-result.ts'
import { paintFor } from '../output/paint.ts'
import { plannedRestore } from '../plan/planned-restore.ts'
import { type PlanFormat, printPlan } from '../plan/print-plan.ts'
import { terminalProgress } from '../progress/terminal-progress.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restorePlanFlags } from '../tree/restore.ts'
import { locationOf } from './backup-client.ts'
import { downloadPortsOf } from './download-ports-of.ts'
import type { Place } from './object-client.ts'

type Call = CommandCall<typeof restorePlanFlags>

/** `restore plan [NAME]`: what a restore would do, object by object. Exit code 1 if it would have errors. */
export function run(call: Call): CommandResult {
  const end = { errors: 0 }
  return { show: 'text', chunks: plan(call, end), exitCode: () => (end.errors > 0 ? 1 : 0) }
}

async function* plan(call: Call, end: { errors: number }): AsyncGenerator<string> {
  const { flags, surroundings } = call
  const { stdout, env, signal } = surroundings
  const { namespace, colorized } = await call.settings()
  await using client = await call.connect()
  await using made = await makePlan(call, { client, namespace, signal })
  end.errors = made.errors
  yield* printPlan(made, flags.output as PlanFormat, paintFor(stdout, { env, colorized }))
}

const details = { table: 'none', diff: 'diff', json: 'fields', yaml: 'fields' } as const

async function makePlan(call: Call, place: Place): Promise<ShownPlan> {
  const { flags, surroundings } = call
  const { clock, signal, stderr } = surroundings
  const { features } = await call.settings()
  const { client, namespace } = place
  const restore = await plannedRestore(call, place)
  const { openRestorePlan } = await import('@lateen/server')
  using progress = terminalProgress(stderr, clock)
  return await openRestorePlan(
    {
      ...{ client, clock, restore, namespace, features },
      source: sourceOf(call, place),
      detail: details[flags.output as PlanFormat],
      showSecrets: flags['show-secrets'],
      onProgress: ({ itemsRestored: done, totalItems: total }) =>
        progress.seen({ phase: 'Planning', done, total }),
    },
    signal,
  )
}

function sourceOf(call: Call, place: Place): RestorePlanOptions['source'] {
  const { local, 'allow-partially-failed': allowPartiallyFailed } = call.flags
  if (local === undefined) return { files: downloadedFiles(call, place) }
  return { folder: path.resolve(local), allowPartiallyFailed }
}

const fileKinds = {
  volumeInfo: 'BackupVolumeInfos',
  snapshots: 'BackupVolumeSnapshots',
  csiSnapshots: 'CSIBackupVolumeSnapshots',
} as const satisfies Record<string, DownloadTargetKind>

/** Through the server, as all downloads. */
function downloadedFiles(call: Call, place: Place): PlanFiles {
  const timeoutMs = call.flags.timeout.milliseconds
  const portsFor = (backup: Backup): Promise<DownloadPorts> =>
    downloadPortsOf(call, { ...place, location: locationOf(backup), timeoutMs })
  return {
    async *contents(backup) {
      const { name = '' } = backup.metadata
      yield* streamDownload({ kind: 'BackupContents', name }, await portsFor(backup))
    },
    async json(backup, file) {
      const { name = '' } = backup.metadata
      try {
        return await downloadJson({ kind: fileKinds[file], name }, await portsFor(backup))
      } catch (error) {
        if (error instanceof CliError && error.code === 'NO_FILE') return undefined
        throw error
      }
    },
  }
}
