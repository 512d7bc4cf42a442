import { loadMaintenanceParams, saveMaintenanceParams } from '../../maintenance/params-manifest.ts'
import { formatPlan } from '../../maintenance/plan.ts'
import {
  type MaintenanceOptions,
  type MaintenanceReport,
  previewMaintenance,
  runMaintenance,
} from '../../maintenance/run.ts'
import type { Repository } from '../../repository.ts'
import { type CommandContext, type CommandRun, textFlag } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { printBytes } from '../printable.ts'
import { usageError } from '../usage-error.ts'
import { withRepository } from '../with-repository.ts'

const dayMs = 86_400_000

/** `maintain`: what is due, or all of it with `--full`; `--dry-run` prints the plan. */
export const maintain: CommandRun = context => {
  const { flags } = context
  const dryRun = flags['dry-run'] === true
  return withRepository(context, { readOnly: dryRun }, async repository => {
    if (flags['take-ownership'] === true && !dryRun) await takeOwnership(context, repository)
    if (!dryRun) await switchLocks(context, repository)
    const options = maintenanceOptions(context, repository)
    await (dryRun ? preview(context, repository, options) : run(context, repository, options))
    return exitCodes.ok.code
  })
}

function maintenanceOptions(
  { flags, surroundings }: CommandContext,
  { client }: Repository,
): MaintenanceOptions {
  return {
    mode: flags.full === true ? 'full' : 'auto',
    identity: `${client.username}@${client.hostname}`,
    force: flags['dry-run'] === true,
    signal: surroundings.signal,
  }
}

async function takeOwnership(
  { surroundings: { signal } }: CommandContext,
  repository: Repository,
): Promise<void> {
  const params = await loadMaintenanceParams(repository.manifests, signal)
  const { username, hostname } = repository.client
  await saveMaintenanceParams(repository, { ...params, owner: `${username}@${hostname}` }, signal)
}

/** Kopia's rule: what is locked must stay so until the full maintenance after the next, with a day to spare. */
async function switchLocks(
  { flags, surroundings: { signal } }: CommandContext,
  repository: Repository,
): Promise<void> {
  const wanted = textFlag(flags, 'extend-locks')
  if (wanted === undefined) return
  if (wanted !== 'on' && wanted !== 'off')
    throw usageError(`--extend-locks is "${wanted}"`, 'write on or off')
  const params = await loadMaintenanceParams(repository.manifests, signal)
  const { retention } = repository.format.blobConfig
  const interval = Number(params.full.interval / 1_000_000n)
  if (wanted === 'on' && (retention?.period ?? 0) - interval < dayMs) {
    throw usageError(
      retention === undefined
        ? 'the repository locks no blobs'
        : 'the locks would end before the next full maintenance could extend them',
      'create it with --retention-mode and with more --retention-days than the time between full maintenances and a day',
    )
  }
  await saveMaintenanceParams(repository, { ...params, extendObjectLocks: wanted === 'on' }, signal)
}

async function preview(
  { output }: CommandContext,
  repository: Repository,
  options: MaintenanceOptions,
): Promise<void> {
  const plan = await previewMaintenance(repository, options)
  await output.document(plan ?? { steps: [] }, plan === undefined ? ['nothing is due'] : formatPlan(plan))
}

async function run(
  { output }: CommandContext,
  repository: Repository,
  options: MaintenanceOptions,
): Promise<void> {
  const report = await runMaintenance(repository, {
    ...options,
    onStep: event => {
      if (event.kind === 'begin') output.note(`${event.step.task}: ${event.step.reason}`)
    },
  })
  await output.document(report, reportLines(report))
}

function reportLines(report: MaintenanceReport): string[] {
  if (!report.ran) return ['nothing is due']
  const lines = report.steps.flatMap(({ task, effects }) =>
    effects.map(({ verb, what, count, bytes }) => `${task}: ${verb} ${count} ${what} (${printBytes(bytes)})`),
  )
  return [...lines, `${report.plan.mode} maintenance is done`]
}
