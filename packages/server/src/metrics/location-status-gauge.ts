/** Whether each location is available, as `velero_backup_location_status_gauge`. */
export interface LocationStatusGauge {
  set(location: string, available: boolean): void
  remove(location: string): void
  /** In Prometheus' text format. Empty without locations. */
  render(): string
}

const NAME = 'velero_backup_location_status_gauge'

export function createLocationStatusGauge(): LocationStatusGauge {
  const values = new Map<string, boolean>()
  return {
    set: (location, available) => void values.set(location, available),
    remove: location => void values.delete(location),
    render() {
      if (values.size === 0) return ''
      const lines = [...values].map(
        ([location, available]) =>
          `${NAME}{backup_location_name="${escaped(location)}"} ${available ? 1 : 0}`,
      )
      const help = `# HELP ${NAME} The status of backup location, 1 when available, 0 otherwise`
      return [help, `# TYPE ${NAME} gauge`, ...lines, ''].join('\n')
    },
  }
}

function escaped(value: string): string {
  return value.replace(/[\\"]/g, character => `\\${character}`).replace(/\n/g, '\\n')
}
