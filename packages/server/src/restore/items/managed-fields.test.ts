import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planOwners } from './managed-fields.ts'

const objectWith = (...managedFields: object[]) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', managedFields },
})
const kubectl = { manager: 'kubectl-create', operation: 'Update', apiVersion: 'v1' }
const status = { manager: 'kube-controller-manager', operation: 'Update', subresource: 'status' }

describe('planOwners', () => {
  it('names the manager in the create where one has set all but the status', () => {
    assert.deepEqual(planOwners(objectWith(kubectl, status)), {
      fieldManager: 'kubectl-create',
      statusManager: 'kube-controller-manager',
      entries: undefined,
    })
  })

  it('writes the owners afterwards where several have set fields', () => {
    const other = { ...kubectl, manager: 'kube-controller-manager' }
    assert.deepEqual(planOwners(objectWith(kubectl, other, status)).entries, [kubectl, other, status])
  })

  it('writes the owners afterwards where the one manager applied, which a create cannot say', () => {
    const applied = { ...kubectl, operation: 'Apply' }
    assert.deepEqual(planOwners(objectWith(applied)).entries, [applied])
  })

  it('does not name a manager that the server would refuse', () => {
    const long = { ...kubectl, manager: 'm'.repeat(129) }
    assert.equal(planOwners(objectWith(long)).fieldManager, undefined)
    assert.equal(planOwners(objectWith({ ...kubectl, manager: 'a\nb' })).fieldManager, undefined)
  })

  it('has nothing to do for an object without owners', () => {
    const nothing = { fieldManager: undefined, statusManager: undefined, entries: undefined }
    assert.deepEqual(planOwners(objectWith()), nothing)
    assert.deepEqual(planOwners({ apiVersion: 'v1', kind: 'A', metadata: {} }), nothing)
  })
})
