import { type ServerStatusRequest, ServerStatusRequestKind } from '@lateen/api'
import type { CommandResult } from '../output/command-result.ts'
import { errorReason } from '../output/error-line.ts'
import type { Column } from '../output/table.ts'
import type { CommandCall } from '../tree/command.ts'
import type { pluginGetFlags } from '../tree/plugin.ts'
import { objectsResult } from './objects-result.ts'
import { serverStatus } from './server-status.ts'

type Plugin = NonNullable<NonNullable<ServerStatusRequest['status']>['plugins']>[number]

const columns: readonly Column[] = [
  { header: 'NAME', cell: ({ name }: Plugin) => name },
  { header: 'KIND', cell: ({ kind }: Plugin) => kind },
]

/** `plugin get`: what the server answers; as with Velero a server that does not is a remark, not a failure. */
export async function run(call: CommandCall<typeof pluginGetFlags>): Promise<CommandResult> {
  const { output, timeout } = call.flags
  let answer: ServerStatusRequest
  try {
    answer = await serverStatus(call, timeout)
  } catch (error) {
    if (call.surroundings.signal.aborted) throw error
    return { show: 'lines', lines: [`<error getting plugin information: ${errorReason(error)}>`] }
  }
  const plugins = (answer.status?.plugins ?? []).toSorted(
    (a, b) => compare(a.kind, b.kind) || compare(a.name, b.name),
  )
  return objectsResult(ServerStatusRequestKind, {
    objects: output === 'table' ? plugins : [answer],
    columns,
    flags: { output, 'label-columns': [], 'show-labels': false },
  })
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
