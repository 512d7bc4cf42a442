import type { MaintenanceLease } from './lease.ts'
import type { MaintainedRepository } from './maintained-repository.ts'
import type { MaintenanceParams } from './params.ts'
import type { SafetyParameters } from './safety.ts'

/** What every task works with. */
export interface TaskContext {
  repository: MaintainedRepository
  params: MaintenanceParams
  safety: SafetyParameters
  /** Storage time at which the run began, in milliseconds. */
  maintenanceStart: number
  /** Packs that something referred to when the run began, and that it leaves alone. */
  referencedAtStart?: ReadonlySet<string> | undefined
  /** Absent when a task only looks what it would do: then it changes nothing. */
  lease?: MaintenanceLease | undefined
  signal?: AbortSignal | undefined
}
