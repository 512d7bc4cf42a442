import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommandLine } from '../parse/command-line.ts'
import { readFlagValues } from '../parse/flag-values.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { scheduleCreateFlags } from '../tree/schedule.ts'
import { newSchedule, type ScheduleCreateFlags } from './new-schedule.ts'

function schedule(...argv: string[]) {
  const parsed = parseCommandLine(commandTree, globalFlags, ['schedule', 'create', 'a', ...argv])
  const given = parsed.want === 'run' ? parsed.given : new Map()
  const flags = readFlagValues(scheduleCreateFlags, given) as ScheduleCreateFlags
  return newSchedule({ name: 'a', namespace: 'ns', flags })
}

describe('newSchedule', () => {
  it('backs up everything at the times that were given', () => {
    assert.deepEqual(schedule('--schedule', '0 3 * * *'), {
      apiVersion: 'velero.io/v1',
      kind: 'Schedule',
      metadata: { name: 'a', namespace: 'ns' },
      spec: {
        schedule: '0 3 * * *',
        useOwnerReferencesInBackup: false,
        template: {
          metadata: {},
          hooks: {},
          includedNamespaces: ['*'],
          ttl: '0s',
          csiSnapshotTimeout: '0s',
          itemOperationTimeout: '0s',
        },
      },
    })
  })

  it('holds everything that was asked for', () => {
    const { metadata, spec } = schedule(
      ...['--schedule=@every 6h', '--labels=a=b', '--annotations=lateen.dev/keep-last-good=true', '--paused'],
      ...['--use-owner-references-in-backup', '--skip-immediately', 'true', '--include-namespaces=shop'],
    )
    assert.deepEqual(metadata.labels, { a: 'b' })
    assert.deepEqual(metadata.annotations, { 'lateen.dev/keep-last-good': 'true' })
    const { template, ...rest } = spec
    assert.deepEqual(template.includedNamespaces, ['shop'])
    assert.deepEqual(rest, {
      schedule: '@every 6h',
      useOwnerReferencesInBackup: true,
      paused: true,
      skipImmediately: true,
    })
  })

  it('leaves it to the server to skip when nothing, or an empty text, was said', () => {
    assert.equal(schedule('--schedule=@daily').spec.skipImmediately, undefined)
    assert.equal(schedule('--schedule=@daily', '--skip-immediately=').spec.skipImmediately, undefined)
    assert.equal(schedule('--schedule=@daily', '--skip-immediately=0').spec.skipImmediately, false)
  })

  it('refuses to be made without times, or with a nonsensical wish to skip', () => {
    assert.throws(() => schedule(), { code: 'USAGE', message: '--schedule is required' })
    assert.throws(() => schedule('--schedule='), { code: 'USAGE' })
    assert.throws(() => schedule('--schedule=@daily', '--skip-immediately=maybe'), {
      code: 'USAGE',
      message: /--skip-immediately must be true or false, and "maybe" is not/,
    })
  })
})
