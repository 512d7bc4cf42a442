import type { PodVolumeBackup, PodVolumeRestore } from '@lateen/api'
import { cells } from '../output/paint.ts'

type PodVolume = PodVolumeBackup | PodVolumeRestore

/** Volumes of one pod, with what is known of their size. */
export interface PodVolumes {
  readonly pod: string
  readonly volumes: readonly string[]
}

/** Pod volumes in one phase. */
export interface PhaseGroup {
  readonly phase: string
  readonly count: number
  /** In the order in which the pods were met. */
  readonly pods: readonly PodVolumes[]
}

/** Titles in the order of the description. */
const titles = {
  backup: ['Completed', 'Failed', 'Canceled', 'In Progress', 'Canceling', 'Prepared', 'Accepted', 'New'],
  restore: ['Completed', 'Canceled', 'Failed', 'In Progress', 'Canceling', 'Prepared', 'Accepted', 'New'],
} as const

/** No phase counts as New. */
function titleOf(phase = ''): string {
  if (phase === '') return 'New'
  return phase === 'InProgress' ? 'In Progress' : phase
}

/** Groups pod volume backups or restores by phase and pod; phases without any are left out. */
export function groupPodVolumes(of: keyof typeof titles, all: readonly PodVolume[]): PhaseGroup[] {
  return titles[of]
    .map(title => {
      const inPhase = all.filter(({ status }) => titleOf(status?.phase) === title)
      const byPod = Map.groupBy(inPhase, ({ spec }) => `${spec.pod.namespace ?? ''}/${spec.pod.name ?? ''}`)
      const pods = [...byPod].map(([pod, some]) => ({
        pod,
        volumes: some.map(each => volumeText(each, title)),
      }))
      return { phase: title, count: inPhase.length, pods }
    })
    .filter(({ count }) => count > 0)
}

function volumeText({ spec, status }: PodVolume, phase: string): string {
  const { bytesDone = 0, totalBytes = 0 } = status?.progress ?? {}
  const incremental = (status && 'incrementalBytes' in status && status.incrementalBytes) || 0
  if (phase === 'In Progress' && totalBytes !== 0) {
    return `${spec.volume} (${((bytesDone / totalBytes) * 100).toFixed(2)}%)`
  }
  if (phase !== 'Completed') return spec.volume
  if (incremental > 0) return `${spec.volume} (size: ${totalBytes}, incremental size: ${incremental})`
  return totalBytes > 0 ? `${spec.volume} (size: ${totalBytes})` : spec.volume
}

/** The lines of all groups, each below its phase; only counts without details. */
export function podVolumeLines(groups: readonly PhaseGroup[], indent: string, details: boolean): string {
  const lines = groups.map(({ phase, count, pods }) => {
    if (!details) return `${indent}${phase}:\t${count}\n`
    const sorted = pods.toSorted((a, b) => (a.pod < b.pod ? -1 : 1))
    const ofPods = sorted.map(
      ({ pod, volumes }) => cells`${indent}\t${pod}: ${volumes.toSorted().join(', ')}\n`,
    )
    return `${indent}${phase}:\n${ofPods.join('')}`
  })
  return lines.join('')
}
