import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { type KubeClient, silentLogger } from '@lateen/kube'
import { restoredByAnnotation } from '../csi/restored-pair-mark.ts'
import { claimToFillFrom } from './claim-to-fill.ts'

const { signal } = new AbortController()

/** The claim that is found in a cluster with one restored snapshot and one claim that is made from it. */
async function found({ backup = 'nightly', phase = 'Pending' }: { backup?: string; phase?: string }) {
  const metadata = {
    ...{ namespace: 'shop', name: 'vsc-1', labels: { 'velero.io/restore-uid': 'r' } },
    annotations: { [restoredByAnnotation]: 'velero/again' },
  }
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'vsc-1' }
  const objects: Record<string, object[]> = {
    VolumeSnapshot: [{ metadata, spec: { source: {} } }],
    VolumeSnapshotContent: [],
    Restore: [{ metadata: { name: 'again', uid: 'r' }, spec: { backupName: backup } }],
    PersistentVolumeClaim: [{ metadata: { name: 'data' }, spec: { dataSource }, status: { phase } }],
  }
  const list = (kind: string) =>
    Object.assign(
      (async function* () {
        yield* objects[kind] ?? []
      })(),
      { toArray: async () => objects[kind] ?? [] },
    )
  const client = { resource: ({ kind }: { kind: string }) => ({ list: () => list(kind) }) }
  const of = { metadata: { namespace: 'velero', name: 'nightly' } } as Backup
  return claimToFillFrom(of, { client: client as unknown as KubeClient, log: silentLogger, signal })
}

describe('The expiry of a backup', () => {
  it('deleted the snapshot that a restored claim was to be filled from, which waited for its pod', async () => {
    assert.equal(await found({}), 'shop/data')
  })

  it('waits for no claim that has its volume, or that is filled from another backup', async () => {
    assert.equal(await found({ phase: 'Bound' }), undefined)
    assert.equal(await found({ backup: 'other' }), undefined)
  })
})
