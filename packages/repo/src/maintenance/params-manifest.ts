import type { ManifestMetadata, ManifestStore } from '../manifest/manifest-store.ts'
import type { MaintainedRepository } from './maintained-repository.ts'
import {
  defaultMaintenanceParams,
  type MaintenanceParams,
  maintenanceParamsLabels,
  parseMaintenanceParams,
  serializeMaintenanceParams,
} from './params.ts'

/** The stored parameters, or defaults without an owner when there are none. Throws `CORRUPT`. */
export async function loadMaintenanceParams(
  manifests: ManifestStore,
  signal?: AbortSignal,
): Promise<MaintenanceParams> {
  const found = await manifests.find(maintenanceParamsLabels, signal)
  const latest = found.reduce<ManifestMetadata | undefined>(laterOf, undefined)
  if (latest === undefined) return defaultMaintenanceParams()
  return parseMaintenanceParams((await manifests.get(latest.id, signal)).payload)
}

/** Replaces the stored parameters; also how a client takes ownership. */
export async function saveMaintenanceParams(
  repository: Pick<MaintainedRepository, 'writing'>,
  params: MaintenanceParams,
  signal?: AbortSignal,
): Promise<void> {
  await repository.writing({ signal }, async ({ manifests }) => {
    await manifests.replace(maintenanceParamsLabels, serializeMaintenanceParams(params))
  })
}

// Two clients that stored parameters at the same time leave two manifests; every client must pick the same one.
function laterOf(a: ManifestMetadata | undefined, b: ManifestMetadata): ManifestMetadata {
  if (a === undefined || b.modified > a.modified) return b
  return b.modified === a.modified && b.id > a.id ? b : a
}
