import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { requireWritableFormat } from '../format/repository-format.ts'
import { type GoTime, goTimeFromMillis } from '../go-json/go-time.ts'
import { chooseMode, type ModeChoice } from './choose-mode.ts'
import { watermarkOf } from './drop-deleted.ts'
import type { Effect } from './effect.ts'
import { type MaintenanceLease, readSchedule, type ScheduleStore, takeLease } from './lease.ts'
import type { MaintainedRepository } from './maintained-repository.ts'
import type { MaintenanceParams } from './params.ts'
import { loadMaintenanceParams } from './params-manifest.ts'
import { type MaintenancePlan, type PlannedStep, planMaintenance } from './plan.ts'
import { referencedPacks } from './referenced-packs.ts'
import { runTask, type TaskOutcome } from './run-task.ts'
import { type SafetyParameters, safetyFull } from './safety.ts'
import type { MaintenanceSchedule, RunExtra } from './schedule.ts'
import type { MaintenanceMode, MaintenanceTask } from './task.ts'
import type { TaskContext } from './task-context.ts'

/** How maintenance runs. */
export interface MaintenanceOptions {
  /** `auto`, the default, runs full or quick maintenance when it is due. */
  mode?: MaintenanceMode | 'auto'
  /** `user@host`; only the owner maintains. */
  identity: string
  /** Runs although another client is the owner. */
  force?: boolean
  /** `safetyFull` by default; `safetyNone` only while nobody else uses the repository. */
  safety?: SafetyParameters
  /** Told of each step as it begins and ends. */
  onStep?: (event: StepEvent) => void
  randomBytes?: (length: number) => Uint8Array
  signal?: AbortSignal | undefined
}

/** A step that begins, or has ended with what it did. */
export type StepEvent =
  | { kind: 'begin'; step: PlannedStep }
  | { kind: 'end'; task: MaintenanceTask; effects: readonly Effect[] }

/** What a run did. */
export type MaintenanceReport =
  | {
      ran: true
      plan: MaintenancePlan
      steps: readonly { task: MaintenanceTask; effects: readonly Effect[] }[]
    }
  | { ran: false; nextFull: GoTime | undefined; nextQuick: GoTime | undefined }

/**
 * Maintains a repository: takes the lease, plans, and does the steps of the plan one after the other, each recorded in
 * the history. Before every destructive step the lease is read again; `model/run-model.ts` says what that excludes.
 *
 * Throws `NOT_OWNER` when another client is the owner, `UNSUPPORTED_FORMAT` for format version 1, `CLOCK_SKEW` when the
 * clocks differ, `LOCKED` when another maintainer begins meanwhile, and whatever a task throws; later steps then do not
 * run, and nothing is lost but the work.
 */
export async function runMaintenance(
  repository: MaintainedRepository,
  options: MaintenanceOptions,
): Promise<MaintenanceReport> {
  const { safety = safetyFull, signal } = options
  const { params, schedule, choice, store } = await prepare(repository, options)
  if (choice.kind !== 'run') return { ran: false, nextFull: choice.nextFull, nextQuick: choice.nextQuick }
  const lease = await takeLease(store, { mode: choice.mode, params, schedule }, signal)
  await repository.refresh(signal)
  const plan = planMaintenance({
    mode: choice.mode,
    params,
    retention: repository.format.blobConfig.retention,
    safety,
    now: now(repository),
    schedule,
  })
  const { maintenanceStart } = lease
  const referencedAtStart = await packsToKeep(plan, { repository, safety, signal })
  const context = { repository, params, safety, maintenanceStart, referencedAtStart, lease, signal }
  const steps = []
  for (const step of plan.steps.filter(({ runs }) => runs)) {
    options.onStep?.({ kind: 'begin', step })
    const { effects } = await runStep(step, context)
    options.onStep?.({ kind: 'end', task: step.task, effects })
    steps.push({ task: step.task, effects })
  }
  return { ran: true, plan, steps }
}

/**
 * What `runMaintenance` would do now, with the effects of every step, each judged on the repository as it is. Changes
 * nothing, not even the schedule. Undefined when nothing is due. Throws as `runMaintenance` does.
 */
export async function previewMaintenance(
  repository: MaintainedRepository,
  options: MaintenanceOptions,
): Promise<MaintenancePlan | undefined> {
  const { safety = safetyFull, signal } = options
  const { params, schedule, choice } = await prepare(repository, options)
  if (choice.kind !== 'run') return undefined
  await repository.refresh(signal)
  const { retention } = repository.format.blobConfig
  const facts = { mode: choice.mode, params, retention, safety, now: now(repository), schedule }
  const maintenanceStart = repository.clock.now()
  const survey: Partial<Record<MaintenanceTask, readonly Effect[]>> = {}
  for (const step of planMaintenance(facts).steps.filter(({ runs }) => runs)) {
    throwIfCancelled(signal)
    const { effects } = await runTask(step, { repository, params, safety, maintenanceStart, signal })
    survey[step.task] = effects
  }
  return planMaintenance({ ...facts, survey })
}

interface Prepared {
  params: MaintenanceParams
  schedule: MaintenanceSchedule
  choice: Exclude<ModeChoice, { kind: 'not-owner' }>
  store: ScheduleStore
}

async function prepare(repository: MaintainedRepository, options: MaintenanceOptions): Promise<Prepared> {
  const { mode = 'auto', identity, force = false, randomBytes, signal } = options
  requireWritableFormat(repository.format.format)
  const { storage, clock, format } = repository
  const store = { storage, clock, key: format.keys.maintenance, randomBytes }
  const params = await loadMaintenanceParams(repository.manifests, signal)
  const schedule = await readSchedule(store, signal)
  const choice = chooseMode({ mode, identity, force }, { params, schedule, now: now(repository) })
  if (choice.kind === 'not-owner') throw notOwner(choice.owner, identity)
  return { params, schedule, choice, store }
}

/** Nothing is deleted by a run that has no such step, and nothing is kept by one that nobody works beside. */
async function packsToKeep(
  { steps }: MaintenancePlan,
  { repository, safety, signal }: Pick<TaskContext, 'repository' | 'safety' | 'signal'>,
): Promise<Set<string> | undefined> {
  const deletion = steps.find(({ task, runs }) => runs && task === 'full-delete-blobs')
  if (deletion === undefined || !safety.keepReferencedAtStart) return undefined
  const hiddenUpTo = deletion.dropBefore === undefined ? 0 : watermarkOf(deletion.dropBefore)
  return referencedPacks(repository, { hiddenUpTo, signal })
}

async function runStep(
  step: PlannedStep,
  context: TaskContext & { lease: MaintenanceLease },
): Promise<TaskOutcome> {
  const { repository, lease, signal } = context
  throwIfCancelled(signal)
  if (step.destructive) await lease.confirm(signal)
  const start = now(repository)
  const report = (end: { success: boolean; error: string; extra: readonly RunExtra[] }) =>
    lease.record(step.task, { start, end: now(repository), ...end, unknown: {} }, signal)
  let outcome: TaskOutcome
  try {
    outcome = await runTask(step, context)
  } catch (error) {
    // A run that failed or was cancelled is recorded where that is possible; the failure itself matters more.
    const text = error instanceof Error ? error.message : String(error)
    await report({ success: false, error: text, extra: [] }).catch(() => {})
    throw error
  }
  await report({ success: true, error: '', extra: outcome.extra })
  return outcome
}

function now({ clock }: Pick<MaintainedRepository, 'clock'>): GoTime {
  return goTimeFromMillis(clock.now())
}

function notOwner(owner: string, identity: string): RepoError {
  return new RepoError('NOT_OWNER', {
    message:
      owner === ''
        ? 'Nobody owns the maintenance of this repository'
        : `The maintenance of this repository belongs to ${owner}, and this client is ${identity}`,
    hint: 'Let the owner run it, or take ownership for this client first',
  })
}
