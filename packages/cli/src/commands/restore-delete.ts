import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreDeleteFlags } from '../tree/restore.ts'
import { confirm } from './confirm.ts'
import { restoreClient } from './restore-client.ts'
import { requireOneWay, selectObjects } from './select-objects.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<typeof restoreDeleteFlags>

/** `restore delete`: asks first. Deletes nothing when one of the names does not exist; else reports all failures at the end. */
export function run(call: Call): CommandResult {
  requireOneWay(call, 'restore')
  return { show: 'lines', lines: deleteRestores(call) }
}

async function* deleteRestores(call: Call): AsyncGenerator<string> {
  const { namespace } = await call.settings()
  if (!call.flags.confirm && !(await confirm(call.surroundings))) return
  await using client = await call.connect()
  const restores = restoreClient({ client, namespace, signal: call.surroundings.signal })
  const missing: unknown[] = []
  const found = await selectObjects(restores, call, { failures: missing })
  throwFailures(missing, 'lookups')
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
