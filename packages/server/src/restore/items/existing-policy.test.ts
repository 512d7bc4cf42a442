import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem } from '@lateen/plugin'
import { groupResource } from '../../item/item.ts'
import {
  decideExisting,
  type ExistingPolicy,
  existingPolicyAnnotation,
  existingPolicyOf,
} from './existing-policy.ts'
import { addRestoreLabels } from './reset-object.ts'

const labels = { backup: 'nightly', restore: 'again' }
const mark = {
  metadata: { labels: { 'velero.io/backup-name': 'nightly', 'velero.io/restore-name': 'again' } },
}
const configMaps = groupResource({ group: '', plural: 'configmaps' })
const serviceAccounts = groupResource({ group: '', plural: 'serviceaccounts' })

function object(fields: object, metadata: object = {}): ActionItem {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'shop', ...metadata },
    ...fields,
  }
}

function wantedOf(fields: object, metadata: object = {}): ActionItem {
  const wanted = object(fields, metadata)
  addRestoreLabels(wanted, labels)
  return wanted
}

function decide(policy: ExistingPolicy, live: ActionItem, wanted: ActionItem) {
  return decideExisting({ policy, groupResource: configMaps, wanted, live, labels })
}

describe('An object that exists', () => {
  it('is left alone where it is as in the backup, labels of earlier restores aside', () => {
    const live = object({ data: { a: '1' } }, { labels: { 'velero.io/restore-name': 'earlier' } })
    for (const policy of ['', 'none', 'recreate'] as const) {
      assert.deepEqual(decide(policy, live, wantedOf({ data: { a: '1' } })), { step: 'leave' })
    }
  })

  it('is marked under update where it is as in the backup', () => {
    const step = decide('update', object({ data: { a: '1' } }), wantedOf({ data: { a: '1' } }))
    assert.deepEqual(step, { step: 'mark', patch: mark })
  })

  it('that differs stays, with the warning that Velero gives, under none', () => {
    const [live, wanted] = [object({ data: { a: '2' } }), wantedOf({ data: { a: '1' } })]
    const text = 'already exists. Warning: the in-cluster version is different than the backed-up version'
    assert.deepEqual(decide('none', live, wanted), {
      step: 'keep',
      warning: `could not restore, ConfigMap "a" ${text}`,
    })
    assert.deepEqual(decide('', live, wanted), {
      step: 'keep',
      warning: `could not restore, ConfigMap:a ${text}`,
    })
  })

  it('that differs is patched under update, fields that the backup does not have removed', () => {
    const live = object({ data: { a: '2', b: '3' } })
    assert.deepEqual(decide('update', live, wantedOf({ data: { a: '1' } })), {
      step: 'patch',
      patch: { ...mark, data: { a: '1', b: null } },
      mark,
    })
  })

  it('that differs is replaced under recreate, but for those whose data would be gone', () => {
    const [live, wanted] = [object({ data: { a: '2' } }), wantedOf({ data: { a: '1' } })]
    assert.deepEqual(decide('recreate', live, wanted), { step: 'replace' })
    const claims = groupResource({ group: '', plural: 'persistentvolumeclaims' })
    const facts = { policy: 'recreate', groupResource: claims, wanted, live, labels } as const
    assert.equal(decideExisting(facts).step, 'keep')
  })
})

describe('A service account that exists', () => {
  const account = (fields: object, metadata: object = {}) => ({
    ...object(fields, metadata),
    kind: 'ServiceAccount',
  })

  it('gets what only the backup has, under every policy', () => {
    const live = account({ secrets: [{ name: 'new' }] }, { annotations: { same: 'live' } })
    const wanted = account(
      { secrets: [{ name: 'old' }, { name: 'new' }], imagePullSecrets: [{ name: 'pull' }] },
      { annotations: { same: 'backup', more: 'x' }, labels: { app: 'web' } },
    )
    addRestoreLabels(wanted, labels)
    for (const policy of ['', 'none', 'update', 'recreate'] as const) {
      assert.deepEqual(decideExisting({ policy, groupResource: serviceAccounts, wanted, live, labels }), {
        step: 'patch',
        patch: {
          metadata: { annotations: { more: 'x' }, labels: { app: 'web' } },
          secrets: [{ name: 'new' }, { name: 'old' }],
          imagePullSecrets: [{ name: 'pull' }],
        },
        mark: policy === 'update' ? mark : undefined,
      })
    }
  })

  it('is left alone where the backup has nothing more', () => {
    const live = account({ secrets: [{ name: 'new' }] })
    const wanted = account({})
    addRestoreLabels(wanted, labels)
    assert.deepEqual(
      decideExisting({ policy: 'none', groupResource: serviceAccounts, wanted, live, labels }),
      {
        step: 'leave',
      },
    )
  })
})

describe('existingPolicyOf', () => {
  const restore = (existingResourcePolicy: string | undefined, annotations = {}) => ({
    apiVersion: 'velero.io/v1',
    kind: 'Restore',
    metadata: { name: 'r', annotations },
    spec: { ...(existingResourcePolicy !== undefined && { existingResourcePolicy }) },
  })

  it('takes the annotation before the spec', () => {
    assert.equal(existingPolicyOf(restore('none', { [existingPolicyAnnotation]: 'recreate' })), 'recreate')
    assert.equal(existingPolicyOf(restore('update')), 'update')
    assert.equal(existingPolicyOf(restore(undefined)), '')
  })
})
