import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { goJson } from '../output/go-json.ts'
import { ansi, plain } from '../output/paint.ts'
import { backupAsJson } from './backup-as-json.ts'
import type { BackupDescription } from './backup-description.ts'
import { describeBackup } from './describe-backup.ts'

function described(backup: Partial<Backup>, more: Partial<BackupDescription> = {}): BackupDescription {
  return {
    backup: {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'b', namespace: 'ns' },
      spec: {},
      ...backup,
    },
    deleteRequests: [],
    keptFor: undefined,
    podVolumeBackups: [],
    results: undefined,
    operations: undefined,
    resourceList: undefined,
    snapshots: { got: 'content', native: [], csi: [], legacy: false },
    details: false,
    ...more,
  }
}

describe('describeBackup', () => {
  it('says for which schedule a backup is kept', () => {
    const kept = described(
      { status: { phase: 'Completed', expiration: '2026-01-02T03:04:05Z' } },
      { keptFor: 'daily' },
    )
    assert.match(
      describeBackup(kept, plain),
      /^Expiration: .*\nKept: +as the last Completed backup of schedule daily, even after its expiration\n/m,
    )
    assert.match(goJson(backupAsJson(kept)), /"keptForSchedule": "daily"/)
    assert.doesNotMatch(describeBackup(described({}), plain), /Kept/)
  })

  it('shows a backup that nobody has seen', () => {
    assert.equal(
      describeBackup(described({}), plain),
      `Name:         b
Namespace:    ns
Labels:       <none>
Annotations:  <none>

Phase:  New


Namespaces:
  Included:  *
  Excluded:  <none>

Resources:
  Included cluster-scoped:    <none>
  Excluded cluster-scoped:    <none>
  Included namespace-scoped:  *
  Excluded namespace-scoped:  <none>

Label selector:  <none>

Or label selector:  <none>

Storage Location:  

Velero-Native Snapshot PVs:  auto
Snapshot Move Data:          auto
Data Mover:                  velero

TTL:  0s

CSISnapshotTimeout:    0s
ItemOperationTimeout:  0s

Hooks:  <none>

Backup Format Version:  

Started:    <n/a>
Completed:  <n/a>

Expiration:  <nil>

Backup Volumes:
  Velero-Native Snapshots: <none included>

  CSI Snapshots: <none included>

  Pod Volume Backups: <none included>
`,
    )
  })

  it('says how to see more of one that failed', () => {
    assert.match(
      describeBackup(described({ status: { phase: 'Failed' } }), plain),
      /^Phase: {2}Failed \(run `lateen backup logs b` for more information\)$/m,
    )
  })

  it('shows warnings and errors by where they belong', () => {
    const results = {
      got: 'content',
      content: { warnings: { namespaces: { b: ['two'], a: ['one', 'more'] } }, errors: { velero: ['x'] } },
    } as const
    assert.match(
      describeBackup(described({ status: { warnings: 3, errors: 1 } }, { results }), plain),
      /\n\n\nWarnings:\n {2}Velero: {5}<none>\n {2}Cluster: {4}<none>\n {2}Namespaces:\n {4}a: {2}one\n {8}more\n {4}b: {2}two\n\nErrors:\n {2}Velero: {3}x\n {2}Cluster: {4}<none>\n {2}Namespaces: <none>\n\nNamespaces:/,
    )
  })

  it('says in its place what could not be had', () => {
    const failed = { got: 'error', while: 'getting', reason: 'nobody is there' } as const
    const text = describeBackup(
      described(
        { status: { errors: 1, backupItemOperationsAttempted: 1 } },
        { results: failed, operations: failed, resourceList: failed, snapshots: failed, details: true },
      ),
      plain,
    )
    assert.match(text, /^Errors: {2}<error getting errors: nobody is there>$/m)
    assert.match(text, /^Backup Item Operations: {2}<error getting operation info: nobody is there>$/m)
    assert.match(text, /^Resource List: +<error getting backup resource list: nobody is there>$/m)
    assert.match(text, /^ {2}<error getting backup volume info: nobody is there>$/m)
  })

  it('paints names and phases on a terminal, and lets no escapes of others through', () => {
    const metadata = { name: 'b', namespace: 'ns', annotations: { a: 'x\u001b[2Jy\u0007' } }
    const text = describeBackup(described({ metadata, status: { phase: 'Completed' } }), ansi)
    assert.ok(text.startsWith('Name:         \u001b[1mb\u001b[22m\n'))
    assert.ok(text.includes('\nPhase:  \u001b[32mCompleted\u001b[0m\n'))
    assert.match(text, /^Annotations: +a=x\?\[2Jy\?$/m)
  })
})

describe('backupAsJson', () => {
  it('says what could not be had, and has no expiration where there is none', () => {
    const failed = { got: 'error', while: 'reading', reason: 'no JSON' } as const
    const json = JSON.parse(
      goJson(backupAsJson(described({ status: { warnings: 1 } }, { results: failed, snapshots: failed }))),
    )
    assert.deepEqual(json.warnings, { errorGettingWarnings: '<error decoding warnings: no JSON>' })
    assert.deepEqual(json.status, {
      backupFormatVersion: '',
      started: '<n/a>',
      completed: '<n/a>',
      expiration: '<nil>',
      backupVolumes: { errorReadBackupVolumeInfo: 'error reading backup volume info: no JSON' },
    })
  })

  it('has sorted keys', () => {
    assert.equal(
      goJson({ b: [], a: { d: 1, c: '<&>' } }),
      '{\n    "a": {\n        "c": "<&>",\n        "d": 1\n    },\n    "b": []\n}\n',
    )
  })
})
