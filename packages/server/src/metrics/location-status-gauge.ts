import type { VeleroMetrics } from './velero-metrics.ts'

/** Whether each location is available, as `velero_backup_location_status_gauge`. */
export interface LocationStatusGauge {
  set(location: string, available: boolean): void
  remove(location: string): void
}

export function createLocationStatusGauge({
  locationStatus,
}: Pick<VeleroMetrics, 'locationStatus'>): LocationStatusGauge {
  return {
    set: (location, available) => locationStatus.set({ backup_location_name: location }, available ? 1 : 0),
    remove: location => locationStatus.remove({ backup_location_name: location }),
  }
}
