import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import type { ResourceIdentifier } from '@lateen/plugin'
import { type BackupOperation, newOperation } from '../../operations/backup-operation.ts'
import { itemsToStoreAgain } from './store-items-again.ts'

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
