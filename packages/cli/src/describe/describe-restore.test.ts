import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PodVolumeRestore, Restore } from '@lateen/api'
import { goJson } from '../output/go-json.ts'
import { ansi, plain } from '../output/paint.ts'
import { describeRestore } from './describe-restore.ts'
import { restoreAsJson } from './restore-as-json.ts'
import type { RestoreDescription } from './restore-description.ts'

function described(restore: Partial<Restore>, more: Partial<RestoreDescription> = {}): RestoreDescription {
  return {
    restore: {
      apiVersion: 'velero.io/v1',
      kind: 'Restore',
      metadata: { name: 'r', namespace: 'ns' },
      spec: { backupName: 'b' },
      ...restore,
    },
    podVolumeRestores: [],
    results: undefined,
    operations: undefined,
    resourceList: undefined,
    volumes: { got: 'nothing' },
    details: false,
    ...more,
  }
}

function podVolume(volume: string, phase?: 'Canceling' | 'Completed'): PodVolumeRestore {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'PodVolumeRestore',
    metadata: {},
    spec: {
      pod: { namespace: 'shop', name: 'web' },
      volume,
      backupStorageLocation: 'l',
      repoIdentifier: 'r',
      uploaderType: 'kopia',
      snapshotID: 's',
      sourceNamespace: 'shop',
    },
    ...(phase && { status: { phase } }),
  }
}

const failed = { got: 'error', while: 'getting', reason: 'nobody is there' } as const

describe('describeRestore', () => {
  it('shows a restore that nobody has seen', () => {
    assert.equal(
      describeRestore(described({}), plain),
      `Name:         r
Namespace:    ns
Labels:       <none>
Annotations:  <none>

Phase:  New

Started:    <n/a>
Completed:  <n/a>

Backup:  b

Namespaces:
  Included:  all namespaces found in the backup
  Excluded:  <none>

Resources:
  Included:        *
  Excluded:        <none>
  Cluster-scoped:  auto

Namespace mappings:  <none>

Label selector:  <none>

Or label selector:  <none>

Restore PVs:  auto

Existing Resource Policy:   <none>
ItemOperationTimeout:       0s

Preserve Service NodePorts:  auto

`,
    )
  })

  it('says how to see more of one that failed, and that it is being deleted', () => {
    const metadata = { name: 'r', deletionTimestamp: '2026-01-02T03:04:05Z' }
    assert.match(
      describeRestore(described({ metadata, status: { phase: 'Failed' } }), plain),
      /^Phase: {2}Failed \(Deleting\) \(run 'lateen restore logs r' for more information\)$/m,
    )
  })

  it('says in its place what could not be had', () => {
    const text = describeRestore(
      described(
        { status: { errors: 1, restoreItemOperationsAttempted: 1 } },
        { results: failed, operations: failed, resourceList: failed, volumes: failed, details: true },
      ),
      plain,
    )
    assert.match(text, /^Errors: {2}<error getting errors: nobody is there>$/m)
    assert.match(text, /^Restore Item Operations: {2}<error getting operation info: nobody is there>$/m)
    assert.match(text, /^Resource List: {2}<error getting restore resource list: nobody is there>$/m)
    assert.match(text, /^Restore PVs: {2}auto\n {14}<error getting restore volume info: nobody is there>$/m)
  })

  it('shows volumes of pods in every phase, also while they are canceled', () => {
    const podVolumeRestores = [podVolume('b', 'Canceling'), podVolume('a', 'Canceling'), podVolume('c')]
    assert.match(
      describeRestore(described({}, { podVolumeRestores }), plain),
      /^kopia Restores \(specify --details for more information\):\n {2}Canceling: {2}2\n {2}New: {8}1$/m,
    )
    assert.match(
      describeRestore(described({}, { podVolumeRestores, details: true }), plain),
      /^kopia Restores:\n {2}Canceling:\n {4}shop\/web: a, b\n {2}New:\n {4}shop\/web: c$/m,
    )
  })

  it('paints names and phases on a terminal, and lets no escapes of others through', () => {
    const spec = { backupName: 'b', namespaceMapping: { a: 'x\u001b[2Jy\u0007' } }
    const text = describeRestore(described({ spec, status: { phase: 'Completed' } }), ansi)
    assert.ok(text.startsWith('Name:         \u001b[1mr\u001b[22m\n'))
    assert.ok(text.includes('\nPhase:  \u001b[32mCompleted\u001b[0m\n'))
    assert.match(text, /^Namespace mappings: +a=x\?\[2Jy\?$/m)
  })
})

describe('restoreAsJson', () => {
  it('has the object and its files, and says what could not be had', () => {
    const resourceList = { got: 'content', content: { 'v1/Pod': ['shop/a(created)'] } } as const
    const podVolumeRestores = [podVolume('a', 'Completed')]
    const description = described(
      { status: { phase: 'Completed', warnings: 1 } },
      { results: failed, resourceList, podVolumeRestores, details: true },
    )
    assert.deepEqual(JSON.parse(goJson(restoreAsJson(description))), {
      metadata: { name: 'r', namespace: 'ns', labels: null, annotations: null },
      phase: 'Completed',
      deleting: false,
      spec: { backupName: 'b' },
      status: { phase: 'Completed', warnings: 1 },
      resourceList: { 'v1/Pod': ['shop/a(created)'] },
      podVolumeRestores: { Completed: { 'shop/web': ['a'] } },
      unavailable: { results: 'error getting: nobody is there', volumes: 'file not found' },
    })
  })
})
