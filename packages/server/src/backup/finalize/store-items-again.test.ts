import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Backup, DataUploadKind } from '@lateen/api'
import { type KubeObject, type Logger, type ResourceType, silentLogger, systemClock } from '@lateen/kube'
import type { ResourceIdentifier } from '@lateen/plugin'
import { startObjectServer } from '../../../../../tools/test/object-server.ts'
import { VolumeSnapshotKind } from '../../csi/snapshot-kinds.ts'
import { type BackupOperation, newOperation } from '../../operations/backup-operation.ts'
import type { PluginSession } from '../../plugin-host/plugin-session.ts'
import { createBlockWorkers } from '../../workers/block-workers.ts'
import { itemsToStoreAgain, storeItemsAgain } from './store-items-again.ts'

const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const web = { group: 'apps', resource: 'deployments', namespace: 'shop', name: 'web' }
const volume = { group: '', resource: 'persistentvolumes', namespace: '', name: 'pv-1' }

function operation(
  phase: BackupOperation['status']['phase'],
  ...postOperationItems: ResourceIdentifier[]
): BackupOperation {
  const begun = newOperation({ backup, action: 'x', item: web, operationId: 'o', postOperationItems, now: 0 })
  return { ...begun, status: { phase } }
}

describe('what is stored again', () => {
  it('is what operations name, once, those that failed among them', () => {
    const operations = [
      operation('Completed', web, volume),
      operation('Completed'),
      operation('Failed', volume),
      operation('Failed', { ...web, name: 'other' }),
    ]
    assert.deepEqual(itemsToStoreAgain(operations), [web, volume, { ...web, name: 'other' }])
  })
})

const DeploymentKind: ResourceType<KubeObject> = {
  ...{ group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
}

/** What becomes of objects of these kinds that are as they are made: lines of the log, and paths in the archive. */
async function storedAgain(
  kinds: readonly ResourceType<KubeObject>[],
  made: { going?: boolean } | undefined,
) {
  const lines: string[] = []
  const paths: string[] = []
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level}: ${(fields as { resource: string }).resource} ${message}`)
  const log: Logger = { ...silentLogger, warn: note('warn'), error: note('error') }
  await using server = await startObjectServer({ kinds })
  await using workers = createBlockWorkers({ count: 1 })
  const deletion = made?.going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  for (const { group, version, kind, plural } of made === undefined ? [] : kinds) {
    const metadata = { namespace: 'shop', name: 'one', uid: 'u', ...deletion }
    server.objects.set(`${plural}/shop/one`, { apiVersion: `${group}/${version}`, kind, metadata })
  }
  const ids = kinds.map(({ group, plural }) => ({ group, resource: plural, namespace: 'shop', name: 'one' }))
  const scope = {
    ...{ backup, client: server.client, clock: systemClock, log, workers, features: new Set<string>() },
    plugins: { backupItemActions: () => [] } as unknown as PluginSession,
    archive: { add: async (path: string) => void paths.push(path) },
  }
  const record = await storeItemsAgain(ids, scope, new AbortController().signal)
  const isStored = [...record.storedItems()].length > 0 && paths.length > 0
  return { lines, isStored }
}

describe('an object that is to be stored again', () => {
  const ofVolumes = [DataUploadKind, VolumeSnapshotKind]

  it('is an error when it is gone or going and no volume can be restored without it', async () => {
    const told = (why: string) => ({
      lines: [
        `error: datauploads.velero.io An item that is to be stored again ${why}`,
        `error: volumesnapshots.snapshot.storage.k8s.io An item that is to be stored again ${why}`,
      ],
      isStored: false,
    })
    assert.deepEqual(await storedAgain(ofVolumes, { going: true }), told('is being deleted'))
    assert.deepEqual(await storedAgain(ofVolumes, undefined), told('does not exist any more'))
  })

  it('is a warning when it is any other', async () => {
    const told = (why: string) => ({
      lines: [`warn: deployments.apps An item that is to be stored again ${why}`],
      isStored: false,
    })
    assert.deepEqual(await storedAgain([DeploymentKind], { going: true }), told('is being deleted'))
    assert.deepEqual(await storedAgain([DeploymentKind], undefined), told('does not exist any more'))
  })

  it('is stored without a word when it is there', async () => {
    for (const kinds of [ofVolumes, [DeploymentKind]])
      assert.deepEqual(await storedAgain(kinds, {}), { lines: [], isStored: true })
  })
})
