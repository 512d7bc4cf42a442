import type { Restore } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreDeleteFlags } from '../tree/restore.ts'
import { confirm } from './confirm.ts'
import { type RestoreClient, restoreClient } from './restore-client.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<typeof restoreDeleteFlags>

/** `restore delete`: asks first. Deletes nothing when one of the names does not exist; else reports all failures at the end. */
export function run(call: Call): CommandResult {
  const ways = [call.args.length > 0, call.flags.all, call.flags.selector !== undefined]
  if (ways.filter(Boolean).length !== 1) {
    throw new CliError(
      'USAGE',
      'you must specify exactly one of: specific restore name(s), the --all flag, or the --selector flag',
    )
  }
  return { show: 'lines', lines: deleteRestores(call) }
}

async function* deleteRestores(call: Call): AsyncGenerator<string> {
  const { namespace } = await call.settings()
  if (!call.flags.confirm && !(await confirm(call.surroundings))) return
  await using client = await call.connect()
  const restores = restoreClient({ client, namespace, signal: call.surroundings.signal })
  const found = await find(restores, call)
  if (found.length === 0) yield 'No restores found'
  const failures: unknown[] = []
  for (const { metadata } of found) {
    try {
      await restores.delete(metadata.name ?? '')
    } catch (error) {
      failures.push(error)
      continue
    }
    yield `Request to delete restore "${metadata.name}" submitted successfully.`
    yield 'It is gone when a server has removed its files from the bucket. What it restored stays.'
  }
  throwFailures(failures, 'deletions')
}

async function find(restores: RestoreClient, { args, flags }: Call): Promise<Restore[]> {
  if (args.length === 0) return restores.list(flags.selector)
  const missing: unknown[] = []
  const found: Restore[] = []
  for (const name of args) {
    await restores.get(name).then(
      restore => found.push(restore),
      error => missing.push(error),
    )
  }
  throwFailures(missing, 'lookups')
  return found
}
