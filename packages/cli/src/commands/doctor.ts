import { BackupStorageLocationKind } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import type { Finding } from '@lateen/server'
import { CliError } from '../cli-error.ts'
import { askServer } from '../doctor/ask-server.ts'
import { gatherObjects } from '../doctor/gather-objects.ts'
import type { CommandResult } from '../output/command-result.ts'
import { goJson } from '../output/go-json.ts'
import { goTime } from '../output/go-time.ts'
import { cells } from '../output/paint.ts'
import { didYouMean } from '../parse/nearest-name.ts'
import type { CommandCall } from '../tree/command.ts'
import { doctorFlags } from '../tree/doctor.ts'

type Call = CommandCall<typeof doctorFlags>

/** `doctor`: what is stuck or left over, and how to mend it. Changes nothing. */
export async function run(call: Call): Promise<CommandResult> {
  const { ignore, output } = call.flags
  const unknown = ignore.find(type => !doctorFlags.ignore.choices.some(choice => choice === type))
  if (unknown !== undefined) {
    const { choices } = doctorFlags.ignore
    const guess = didYouMean(unknown, choices)
    throw new CliError(
      'USAGE',
      `--ignore knows ${choices.join(', ')}, and not ${JSON.stringify(unknown)}${guess}`,
    )
  }
  const findings = (await examine(call)).filter(({ type }) => !ignore.includes(type))
  const exitCode = () => (findings.length > 0 ? 1 : 0)
  if (output === 'json') return { show: 'text', chunks: chunk(goJson({ findings })), exitCode }
  return { show: 'text', chunks: chunk(described(findings)), exitCode }
}

async function examine(call: Call): Promise<Finding[]> {
  const { signal, clock } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const place = { client, namespace, signal }
  const { diagnose } = await import('@lateen/server')
  const resource = client.resource(BackupStorageLocationKind, namespace)
  const known = (await resource.list({ signal }).toArray().catch(unlessNotFound)) ?? []
  const locations = known.map(({ metadata }) => metadata.name ?? '')
  const look = new Date(clock.now()).toISOString()
  const timeoutMs = call.flags.timeout.milliseconds
  const answer = await askServer(place, { locations, look, timeoutMs, clock })
  const gathered = await gatherObjects(place)
  const unclaimedAgeMs = call.flags['older-than'].milliseconds
  return diagnose({ ...gathered, ...answer, namespace, unclaimedAgeMs, now: clock.now() })
}

function described(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'Nothing is stuck, and nothing is left over.\n'
  const each = findings.map(({ subject, problem, since, mend }) => {
    const time = since === undefined ? '' : `, since ${goTime(since)}`
    return cells`${subject} ${problem}${time}\n    ${mend}\n`
  })
  const count = findings.length === 1 ? '1 finding' : `${findings.length} findings`
  return `${each.join('\n')}\n${count}. Nothing was changed: below each stands what would mend it.\n`
}

async function* chunk(text: string): AsyncGenerator<string> {
  yield text
}
