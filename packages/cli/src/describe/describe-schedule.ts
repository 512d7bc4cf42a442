import type { Schedule } from '@lateen/api'
import { alignTabs } from '../output/align-tabs.ts'
import { goTime } from '../output/go-time.ts'
import { cells, type Paint } from '../output/paint.ts'
import { describeMetadata, validationErrorBlocks } from './describe-metadata.ts'
import { describeSpec } from './describe-spec.ts'

/** A schedule in Velero's layout for people. */
export function describeSchedule(schedule: Schedule, paint: Paint): string {
  const { spec, status = {} } = schedule
  return alignTabs(
    [
      describeMetadata(schedule, paint),
      phase(schedule, paint),
      ...policies(schedule),
      ...validationErrorBlocks(status.validationErrors, paint),
      `Paused:\t${spec.paused ?? false}\n`,
      cells`Schedule:\t${spec.schedule}\n`,
      `Backup Template:\n${indented(describeSpec(spec.template))}`,
      `Last Backup:\t${status.lastBackup ? goTime(status.lastBackup) : '<never>'}\n`,
    ].join('\n'),
  )
}

function phase({ status }: Schedule, paint: Paint): string {
  const name = status?.phase || 'New'
  if (name === 'Enabled') return cells`Phase:\t${paint.green(name)}\n`
  return cells`Phase:\t${name === 'FailedValidation' ? paint.red(name) : name}\n`
}

function policies({ spec }: Schedule): string[] {
  const { resourcePolicy, uploaderConfig } = spec.template
  const parallel = uploaderConfig?.parallelFilesUpload ?? 0
  return [
    ...(resourcePolicy
      ? [cells`Resource policies:\n\tType:\t${resourcePolicy.kind}\n\tName:\t${resourcePolicy.name}\n`]
      : []),
    ...(parallel > 0 ? [`Uploader config:\n\tParallel files upload:\t${parallel}\n`] : []),
  ]
}

/** Velero indents lines that hold nothing, too. */
function indented(text: string): string {
  return text.replace(/^/gm, '\t').replace(/\t$/, '')
}
