import { RepoError } from '../../errors/repo-error.ts'
import { rescheduleFull } from '../../maintenance/lease.ts'
import { loadMaintenanceParams, saveMaintenanceParams } from '../../maintenance/params-manifest.ts'
import { runMaintenance, type StepEvent } from '../../maintenance/run.ts'
import type { Repository } from '../../repository.ts'
import type { MaintainMode } from '../backup-repo.ts'
import type { Logger } from '../logger.ts'

/** How a unified repository is maintained. */
export interface MaintainOptions {
  readonly mode: MaintainMode
  /** Velero's name for the time between full runs, or undefined to leave it as it is. */
  readonly fullInterval: string | undefined
  readonly log: Logger
  readonly signal: AbortSignal | undefined
}

const HOUR = 3_600_000_000_000n
/** Velero's names for the time between two full runs. */
const fullIntervals: Readonly<Record<string, bigint>> = {
  normalGC: 24n * HOUR,
  fastGC: 12n * HOUR,
  eagerGC: 6n * HOUR,
}

/**
 * Runs the maintenance that is asked for or due, as the repository's own client. Throws as `runMaintenance`
 * does.
 */
export async function maintainRepository(repository: Repository, options: MaintainOptions): Promise<void> {
  const { mode, log, signal } = options
  await applyFullInterval(repository, options)
  const { username, hostname } = repository.client
  const report = await runMaintenance(repository, {
    mode,
    identity: `${username}@${hostname}`,
    onStep: event => logStep(event, log),
    signal,
  })
  const { description: storage } = repository.storage
  if (report.ran) log.info({ storage, mode: report.plan.mode }, 'maintained repository')
  else log.debug({ storage }, 'no maintenance is due')
}

async function applyFullInterval(
  repository: Repository,
  { fullInterval, signal }: Pick<MaintainOptions, 'fullInterval' | 'signal'>,
): Promise<void> {
  if (fullInterval === undefined || fullInterval === '') return
  const interval = fullIntervals[fullInterval]
  if (interval === undefined) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `"${fullInterval}" is no interval of full maintenance`,
      hint: `use ${Object.keys(fullIntervals).join(', ')}`,
    })
  }
  const params = await loadMaintenanceParams(repository.manifests, signal)
  if (params.full.interval === interval) return
  const { storage, clock, format } = repository
  const store = { storage, clock, key: format.keys.maintenance }
  // First the schedule: whoever ends in between finds the old interval again, and begins anew.
  await rescheduleFull(store, { before: params.full.interval, after: interval }, signal)
  await saveMaintenanceParams(repository, { ...params, full: { ...params.full, interval } }, signal)
}

function logStep(event: StepEvent, log: Logger): void {
  if (event.kind === 'begin') log.debug({ task: event.step.task }, 'maintenance task begins')
  else
    log.info(
      { task: event.task, effects: event.effects.map(({ blobs: _, ...effect }) => effect) },
      'maintenance task done',
    )
}
