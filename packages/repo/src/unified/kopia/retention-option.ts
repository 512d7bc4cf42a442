import { RepoError } from '../../errors/repo-error.ts'
import type { BlobConfig } from '../../format/blob-config.ts'
import { GeneralOption, type RepoOptions } from '../backup-repo.ts'

const unitMs = { h: 3_600_000, m: 60_000, s: 1000 } as const

/**
 * How a new repository is to protect its blobs, from the two general options: mode, and period as Go writes it (`720h`). Throws
 * `INVALID_ARGUMENT` when one is missing or wrong.
 */
export function retentionOption({
  generalOptions = {},
}: Pick<RepoOptions, 'generalOptions'>): BlobConfig | undefined {
  const { [GeneralOption.retentionMode]: mode = '', [GeneralOption.retentionPeriod]: text = '' } =
    generalOptions
  if (mode === '' && text === '') return undefined
  const period = periodOf(text)
  if ((mode === 'GOVERNANCE' || mode === 'COMPLIANCE') && period > 0) return { retention: { mode, period } }
  throw new RepoError('INVALID_ARGUMENT', {
    message: `"${mode}" for "${text}" is no way to protect blobs`,
    hint: 'retentionMode is GOVERNANCE or COMPLIANCE, retentionPeriod a duration such as 720h',
  })
}

function periodOf(text: string): number {
  if (!/^(\d{1,9}[hms])+$/.test(text)) return 0
  let period = 0
  for (const [, digits = '', unit = 's'] of text.matchAll(/(\d+)([hms])/g))
    period += Number(digits) * unitMs[unit as keyof typeof unitMs]
  return period
}
