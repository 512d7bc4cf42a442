import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataUpload, Restore } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { ActionItem, BackedUpObjects } from '@lateen/plugin'
import { createDataDownloads } from './data-downloads.ts'

const restore: Restore = {
  apiVersion: 'velero.io/v1',
  kind: 'Restore',
  metadata: { name: 'again', namespace: 'velero', uid: 'b1b2c3d4-0000-0000-0000-000000000001' },
  spec: { backupName: 'nightly', namespaceMapping: { shop: 'copy' } },
}

const claim: ActionItem = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name: 'data',
    namespace: 'shop',
    uid: 'b1b2c3d4-0000-0000-0000-000000000002',
    annotations: { 'velero.io/data-upload-name': 'velero/nightly-x1' },
  },
  spec: {
    volumeName: 'pv-1',
    dataSource: { kind: 'VolumeSnapshot', name: 'old' },
    resources: { requests: { storage: '1Gi' } },
    selector: { matchLabels: { tier: 'fast' } },
  },
}

function upload(name: string, status: DataUpload['status'], more: { backup?: string; pvc?: string } = {}) {
  const { backup = 'nightly', pvc = 'data' } = more
  const object = {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataUpload',
    metadata: { name, namespace: 'velero', labels: { 'velero.io/backup-name': backup } },
    spec: { sourceNamespace: 'shop', sourcePVC: pvc },
    status,
  }
  return object as unknown as ActionItem
}

function archiveOf(...objects: ActionItem[]): BackedUpObjects {
  return {
    read: async ({ namespace, name }) =>
      objects.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    async *list() {
      yield* objects
    },
  }
}

/** A plan, which asks no cluster. */
const downloads = createDataDownloads({ client: {} as KubeClient, writes: false })
const start = (backedUp: BackedUpObjects, claimFromBackup = claim) =>
  downloads.start({ restore, claim, claimFromBackup, backedUp })

const done = { phase: 'Completed', snapshotID: 'k1' } as const

interface Waiting {
  selector: { matchLabels: Record<string, string> }
}

describe('a claim whose content was moved', () => {
  it('waits for its volume by a selector that nothing else fits', async () => {
    const started = await start(archiveOf(upload('nightly-x1', done)))
    const { selector, ...spec } = (started ?? assert.fail()).claim.spec as Waiting
    assert.deepEqual(spec, { resources: { requests: { storage: '1Gi' } } })
    const { tier, 'velero.io/dynamic-pv-restore': label = '' } = selector.matchLabels
    assert.equal(tier, 'fast')
    assert.match(label, /^copy\.data\.[0-9a-f]{5}$/)
  })

  it('has an operation that is the same in every process, and fits a label', async () => {
    const [one, other] = [
      await start(archiveOf(upload('nightly-x1', done))),
      await start(archiveOf(upload('nightly-x1', done))),
    ]
    assert.equal(one?.operationId, other?.operationId)
    assert.match(one?.operationId ?? '', /^dd-b1b2c3d4-0000-0000-0000-000000000001\.b1b2c3d4-[-0-9a-f]*$/)
    assert.equal(one?.operationId.length, 63)
  })

  it('is found by its own name where the backup calls its DataUpload otherwise, among those of that backup', async () => {
    const failed = upload('other', { phase: 'Failed' }, { backup: 'weekly' })
    const neighbour = upload('neighbour', { phase: 'Failed' }, { pvc: 'logs' })
    assert.ok(await start(archiveOf(failed, neighbour, upload('renamed', done))))
  })

  it('is restored empty when nothing was in it', async () => {
    assert.equal(await start(archiveOf(upload('nightly-x1', { phase: 'Completed' }))), undefined)
  })

  it('is not restored when its content is not in the backup', async () => {
    await assert.rejects(start(archiveOf()), {
      code: 'DATA_NOT_MOVED',
      message: /shop\/data was moved by the DataUpload velero\/nightly-x1, which is not in the backup/,
    })
    for (const phase of ['Failed', 'Canceled', 'InProgress'] as const) {
      await assert.rejects(start(archiveOf(upload('nightly-x1', { phase }))), {
        code: 'DATA_NOT_MOVED',
        message: new RegExp(`nightly-x1 is ${phase}`),
      })
    }
  })

  it('is another matter than one whose content was not moved', async () => {
    const plain = { ...claim, metadata: { ...claim.metadata, annotations: {} } }
    assert.equal(await start(archiveOf(upload('nightly-x1', done)), plain), undefined)
  })
})
