import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommandLine } from '../parse/command-line.ts'
import { readFlagValues } from '../parse/flag-values.ts'
import { backupLocationCreateFlags } from '../tree/backup-location.ts'
import type { FlagValues } from '../tree/flag.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { newLocation } from './backup-location-create.ts'

function location(line: string, caCert?: Uint8Array) {
  const argv = ['backup-location', 'create', 'a', ...line.split(' ').filter(Boolean)]
  const parsed = parseCommandLine(commandTree, globalFlags, argv)
  const given = parsed.want === 'run' ? parsed.given : new Map()
  const flags = readFlagValues(backupLocationCreateFlags, given) as FlagValues<
    typeof backupLocationCreateFlags
  >
  return newLocation({ name: 'a', namespace: 'ns', flags, caCert })
}

describe('newLocation', () => {
  it('holds nothing that was not asked for', () => {
    assert.deepEqual(location('--provider aws --bucket b'), {
      apiVersion: 'velero.io/v1',
      kind: 'BackupStorageLocation',
      metadata: { name: 'a', namespace: 'ns' },
      spec: { provider: 'aws', objectStorage: { bucket: 'b' }, accessMode: 'ReadWrite' },
    })
  })

  it('holds everything that was asked for', () => {
    const everything = location(
      '--provider aws --bucket b --prefix p --credential s=k --default --config r=1,u=2 --config v=3 --labels l=m ' +
        '--backup-sync-period 0 --validation-frequency 90s --access-mode ReadOnly',
      new TextEncoder().encode('pem'),
    )
    assert.deepEqual(everything.metadata.labels, { l: 'm' })
    assert.deepEqual(everything.spec, {
      provider: 'aws',
      objectStorage: { bucket: 'b', prefix: 'p', caCert: 'cGVt' },
      config: { r: '1', u: '2', v: '3' },
      credential: { name: 's', key: 'k' },
      default: true,
      accessMode: 'ReadOnly',
      backupSyncPeriod: '0s',
      validationFrequency: '1m30s',
    })
  })

  const refused: [string, RegExp][] = [
    ['', /--provider is required/],
    ['--provider aws', /--bucket is required/],
    ['--provider aws --bucket b --credential a=b,c=d', /--credential takes one SECRET=KEY pair/],
    ['--provider aws --bucket b --credential a=', /--credential must look like SECRET=KEY/],
    ['--provider aws --bucket b --backup-sync-period=-1m', /--backup-sync-period must not be negative/],
    ['--provider aws --bucket b --validation-frequency=-1m', /--validation-frequency must not be negative/],
    ['--provider aws --bucket b --access-mode WriteOnly', /must be one of ReadWrite, ReadOnly/],
    ['--provider aws --bucket b --backup-sync-period 1', /must be a duration/],
  ]
  for (const [line, message] of refused) {
    it(`refuses "backup-location create a ${line}"`, () => {
      assert.throws(() => location(line), message)
    })
  }
})
