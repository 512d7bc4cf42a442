import { checkRights } from '../install/check-rights.ts'
import { passwordReminder, passwordWarning } from '../install/repository-password.ts'
import { requireIdle } from '../install/running-work.ts'
import {
  losesPassword,
  requireInstallation,
  rightsToUninstall,
  uninstallFrom,
} from '../install/uninstall-from.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { Progress } from '../output/progress.ts'
import type { CommandCall } from '../tree/command.ts'
import type { uninstallFlags } from '../tree/uninstall.ts'
import { confirm } from './confirm.ts'

type Call = CommandCall<typeof uninstallFlags>

/** `uninstall`: asks first, and refuses while backups or restores run, unless `--force` is given. */
export function run(call: Call): CommandResult {
  return { show: 'lines', lines: uninstall(call) }
}

async function* uninstall(call: Call): AsyncGenerator<string | Progress> {
  const { flags, surroundings } = call
  const { namespace } = await call.settings()
  const { clock, signal } = surroundings
  if (flags.wait) yield 'Warning: --wait is deprecated and does nothing: the end is always waited for.'
  await using client = await call.connect()
  const ports = { client, clock, signal }
  await checkRights(rightsToUninstall(namespace), ports, 'ask an administrator of the cluster')
  await requireInstallation(namespace, ports)
  const isPasswordLost = await losesPassword(namespace, ports)
  if (flags.force) {
    if (isPasswordLost) surroundings.stderr.write(`${passwordWarning(namespace)}\n`)
  } else {
    await requireIdle(namespace, ports)
    yield `You are about to uninstall Lateen from namespace ${namespace}.`
    if (isPasswordLost) yield passwordWarning(namespace)
    if (!(await confirm(surroundings, { flag: '--force' }))) return
    // A schedule may have been due while the question stood there.
    await requireIdle(namespace, ports)
  }
  yield* uninstallFrom(namespace, ports)
  if (isPasswordLost) yield passwordReminder(namespace)
}
