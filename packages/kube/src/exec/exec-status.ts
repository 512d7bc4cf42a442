import { KubeError, type StatusDetails } from '../errors.ts'

/** What the status channel says when the command has ended. */
export interface ExecStatus {
  status?: 'Success' | 'Failure'
  reason?: string
  message?: string
  details?: StatusDetails
}

/**
 * The exit code of a command that ran. Throws a KubeError for one that could not be started; `what` names the
 * attempt in its message.
 */
export function exitCodeOf(status: ExecStatus, what: string): number {
  if (status.status === 'Success') return 0
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')
  const code = Number.parseInt(cause?.message ?? '', 10)
  if (status.reason === 'NonZeroExitCode' && Number.isInteger(code)) return code
  throw new KubeError(status.reason ?? 'StreamFailed', {
    message: `cannot ${what}: ${status.message ?? 'the command did not start'}`,
    details: status.details,
    hint: 'check that the container runs and that the command exists in its image',
    mayHaveActed: true,
  })
}
