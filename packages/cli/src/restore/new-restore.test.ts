import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase } from '@lateen/api'
import { parseCommandLine } from '../parse/command-line.ts'
import { readFlagValues } from '../parse/flag-values.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { restoreCreateFlags } from '../tree/restore.ts'
import { commandTree } from '../tree/root.ts'
import { checkRestoreFlags, newRestore, type RestoreCreateFlags } from './new-restore.ts'
import { defaultRestoreName, newestBackup } from './restore-source.ts'

function flagsOf(...argv: string[]): RestoreCreateFlags {
  const parsed = parseCommandLine(commandTree, globalFlags, ['restore', 'create', 'a', ...argv])
  const given = parsed.want === 'run' ? parsed.given : new Map()
  return readFlagValues(restoreCreateFlags, given) as RestoreCreateFlags
}

function restore(...argv: string[]) {
  return newRestore({ name: 'a', namespace: 'ns', source: { backupName: 'b' }, flags: flagsOf(...argv) })
}

describe('newRestore', () => {
  it('takes all namespaces and leaves the rest to the server when nothing is said', () => {
    assert.deepEqual(restore(), {
      apiVersion: 'velero.io/v1',
      kind: 'Restore',
      metadata: { name: 'a', namespace: 'ns' },
      spec: {
        backupName: 'b',
        includedNamespaces: ['*'],
        hooks: {},
        itemOperationTimeout: '0s',
        uploaderConfig: {},
      },
    })
  })

  it('holds everything that was asked for', () => {
    const { metadata, spec } = restore(
      ...['--labels=a=b', '--annotations=c=d', '--include-namespaces=x,y', '--exclude-namespaces', 'z'],
      ...['--include-resources=pods', '--exclude-resources=secrets,events', '--include-cluster-resources'],
      ...['-l', 'app=web', '--namespace-mappings=x:x2,y:y2', '--existing-resource-policy=update'],
      ...['--status-include-resources=*', '--status-exclude-resources=pods', '--item-operation-timeout=2h'],
      ...['--restore-volumes=false', '--preserve-nodeports', '--resource-modifier-configmap=modifiers'],
      ...['--resource-policies-configmap=policies', '--write-sparse-files', '--parallel-files-download=4'],
    )
    assert.deepEqual(metadata, { name: 'a', namespace: 'ns', labels: { a: 'b' }, annotations: { c: 'd' } })
    assert.deepEqual(spec, {
      backupName: 'b',
      hooks: {},
      includedNamespaces: ['x', 'y'],
      excludedNamespaces: ['z'],
      includedResources: ['pods'],
      excludedResources: ['secrets', 'events'],
      includeClusterResources: true,
      labelSelector: { matchLabels: { app: 'web' } },
      namespaceMapping: { x: 'x2', y: 'y2' },
      existingResourcePolicy: 'update',
      restoreStatus: { includedResources: ['*'], excludedResources: ['pods'] },
      itemOperationTimeout: '2h0m0s',
      restorePVs: false,
      preserveNodePorts: true,
      resourceModifier: { apiGroup: '', kind: 'configmap', name: 'modifiers' },
      resourcePolicy: { kind: 'configmap', name: 'policies' },
      uploaderConfig: { writeSparseFiles: true, parallelFilesDownload: 4 },
    })
  })

  it('knows several selectors', () => {
    assert.deepEqual(restore('--or-selector', 'a=b or c').spec.orLabelSelectors, [
      { matchLabels: { a: 'b' } },
      { matchExpressions: [{ key: 'c', operator: 'Exists' }] },
    ])
  })
})

describe('checkRestoreFlags', () => {
  const refused: [string[], RegExp][] = [
    [[], /either a backup or schedule must be specified/],
    [['--from-backup=a', '--from-schedule=b'], /either a backup or schedule must be specified/],
    [['--from-backup=a', '-l', 'a', '--or-selector', 'b'], /either a 'selector' or an 'or-selector'/],
    [['--from-backup=a', '--existing-resource-policy=x'], /accepts only none, update/],
    [['--from-backup=a', '--parallel-files-download=-1'], /cannot be negative/],
    [['--from-backup=a', '--local='], /--local needs a folder/],
  ]
  for (const [argv, message] of refused) {
    it(`refuses ${JSON.stringify(argv)}`, () => {
      assert.throws(() => checkRestoreFlags(flagsOf(...argv)), { code: 'USAGE', message })
    })
  }

  it('has nothing against one source and a policy', () => {
    checkRestoreFlags(flagsOf('--from-schedule=a', '--existing-resource-policy=none'))
  })
})

describe('newestBackup', () => {
  const backup = (name: string, phase: BackupPhase, startTimestamp?: string): Backup => ({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name },
    spec: {},
    status: { phase, ...(startTimestamp && { startTimestamp }) },
  })
  const backups = [
    backup('no-start', 'Completed'),
    backup('old', 'Completed', '2026-01-01T00:00:00Z'),
    backup('partial', 'PartiallyFailed', '2026-01-02T00:00:00Z'),
    backup('failed', 'Failed', '2026-01-03T00:00:00Z'),
  ]

  it('is the one that started last among those that will do', () => {
    assert.equal(newestBackup(backups, ['Completed'])?.metadata.name, 'old')
    assert.equal(newestBackup(backups, ['Completed', 'PartiallyFailed'])?.metadata.name, 'partial')
    assert.equal(newestBackup(backups, ['New']), undefined)
  })

  it('may be one that never said when it started, if there is no other', () => {
    assert.equal(newestBackup(backups.slice(0, 1), ['Completed'])?.metadata.name, 'no-start')
  })
})

describe('defaultRestoreName', () => {
  it('ends in the second in the local time zone', () => {
    const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
    assert.equal(defaultRestoreName('shop', now, 'Europe/Berlin'), 'shop-20260102040405')
    assert.equal(defaultRestoreName('shop-7', now, 'UTC'), 'shop-7-20260102030405')
  })
})
