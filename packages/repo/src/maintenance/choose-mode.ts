import type { GoTime } from '../go-json/go-time.ts'
import type { MaintenanceParams } from './params.ts'
import type { MaintenanceSchedule } from './schedule.ts'
import type { MaintenanceMode } from './task.ts'

/** What is asked for, and by whom. */
export interface ModeRequest {
  mode: MaintenanceMode | 'auto'
  /** `user@host` of this client. */
  identity: string
  /** Runs although another client owns maintenance. */
  force?: boolean
}

/** What this run is going to be. */
export type ModeChoice =
  | { kind: 'run'; mode: MaintenanceMode; reason: string }
  | { kind: 'not-due'; nextFull: GoTime | undefined; nextQuick: GoTime | undefined }
  | { kind: 'not-owner'; owner: string }

/** What is known when the mode is chosen. */
export interface ModeFacts {
  params: Pick<MaintenanceParams, 'owner' | 'quick' | 'full'>
  schedule: Pick<MaintenanceSchedule, 'nextFull' | 'nextQuick'>
  now: GoTime
}

/** Decides whether maintenance runs and how much of it. Full goes before quick, because it does all of quick. */
export function chooseMode(request: ModeRequest, facts: ModeFacts): ModeChoice {
  const { params, schedule, now } = facts
  if (!request.force && params.owner !== request.identity) return { kind: 'not-owner', owner: params.owner }
  if (request.mode !== 'auto') return { kind: 'run', mode: request.mode, reason: 'asked for' }
  if (params.full.enabled && now >= schedule.nextFull)
    return { kind: 'run', mode: 'full', reason: 'full is due' }
  if (params.quick.enabled && now >= schedule.nextQuick) {
    return { kind: 'run', mode: 'quick', reason: 'quick is due' }
  }
  return {
    kind: 'not-due',
    nextFull: params.full.enabled ? schedule.nextFull : undefined,
    nextQuick: params.quick.enabled ? schedule.nextQuick : undefined,
  }
}

/**
 * The schedule after the interval of full runs was changed. Where it is shorter now, the next one is as far from the beginning
 * of the last one as if that had known. This counts from `nextFull` and not from the history, which hears of a task when it
 * has ended: by that, a run that is under way or was killed would be due again at once.
 */
export function withFullInterval(
  schedule: MaintenanceSchedule,
  { before, after, now }: { before: bigint; after: bigint; now: GoTime },
): MaintenanceSchedule {
  if (after >= before || schedule.nextFull <= now) return schedule
  return { ...schedule, nextFull: schedule.nextFull - (before - after) }
}

/** The schedule after a run of this mode began: the next ones are an interval away. */
export function rescheduled(
  schedule: MaintenanceSchedule,
  mode: MaintenanceMode,
  { params, now }: Pick<ModeFacts, 'params' | 'now'>,
): MaintenanceSchedule {
  const nextQuick = now + params.quick.interval
  return mode === 'full'
    ? { ...schedule, nextFull: now + params.full.interval, nextQuick }
    : { ...schedule, nextQuick }
}
