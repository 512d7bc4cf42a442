import type { PodVolumeBackup } from '@lateen/api'

/** Volumes of one pod, with what is known of their size. */
export interface PodVolumes {
  readonly pod: string
  readonly volumes: readonly string[]
}

/** Pod volume backups in one phase. */
export interface PhaseGroup {
  readonly phase: string
  readonly count: number
  /** In the order in which the pods were met. */
  readonly pods: readonly PodVolumes[]
}

/** In the order of the description. No phase counts as New. */
const phases: readonly (readonly [title: string, phases: readonly string[]])[] = [
  ['Completed', ['Completed']],
  ['Failed', ['Failed']],
  ['Canceled', ['Canceled']],
  ['In Progress', ['InProgress']],
  ['Canceling', ['Canceling']],
  ['Prepared', ['Prepared']],
  ['Accepted', ['Accepted']],
  ['New', ['New', '']],
]

/** Groups pod volume backups by phase and pod; phases without any are left out. */
export function groupPodVolumes(backups: readonly PodVolumeBackup[]): PhaseGroup[] {
  return phases
    .map(([title, members]) => {
      const inPhase = backups.filter(({ status }) => members.includes(status?.phase ?? ''))
      const byPod = Map.groupBy(inPhase, ({ spec }) => `${spec.pod.namespace ?? ''}/${spec.pod.name ?? ''}`)
      const pods = [...byPod].map(([pod, some]) => ({
        pod,
        volumes: some.map(each => volumeText(each, title)),
      }))
      return { phase: title, count: inPhase.length, pods }
    })
    .filter(({ count }) => count > 0)
}

function volumeText({ spec, status }: PodVolumeBackup, phase: string): string {
  const { bytesDone = 0, totalBytes = 0 } = status?.progress ?? {}
  const incremental = status?.incrementalBytes ?? 0
  if (phase === 'In Progress' && totalBytes !== 0) {
    return `${spec.volume} (${((bytesDone / totalBytes) * 100).toFixed(2)}%)`
  }
  if (phase !== 'Completed') return spec.volume
  if (incremental > 0) return `${spec.volume} (size: ${totalBytes}, incremental size: ${incremental})`
  return totalBytes > 0 ? `${spec.volume} (size: ${totalBytes})` : spec.volume
}
