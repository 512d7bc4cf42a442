import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { joinReferences, OwnerLinks, relinkOwnersAnnotation, relinksOwners } from './owner-links.ts'

const parent = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'a', uid: 'old-a', controller: true }
const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: 'old-b' }

function owned(kind: string, ...ownerReferences: (typeof parent | typeof other)[]) {
  return { apiVersion: 'v1', kind, metadata: { name: 'x', ownerReferences } }
}

describe('Owner references', () => {
  it('refer to the uids that owners have now', () => {
    const links = new OwnerLinks(true)
    links.learn('old-a', 'new-a')
    assert.deepEqual(links.linked(links.wanted(owned('Secret', parent))), {
      references: [{ ...parent, uid: 'new-a' }],
      complete: true,
    })
  })

  it('wait for owners that are restored later, and drop those that are not restored', () => {
    const links = new OwnerLinks(true)
    const references = links.wanted(owned('Secret', parent, other))
    assert.deepEqual(links.linked(references), { references: [], complete: false })
    const target = {
      type: { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true },
      namespace: 'shop',
      name: 'x',
    }
    const object = { target, uid: 'u', resourceVersion: '1', known: 0, fieldManager: undefined }
    links.later({ ...object, references })
    links.later({ ...object, references: [other] })
    links.later({ ...object, references: [parent, other], known: 1 })
    links.learn('old-a', 'new-a')
    assert.deepEqual([...links.pending()], [{ ...object, references: [{ ...parent, uid: 'new-a' }] }])
  })

  it('are left to controllers that adopt by labels', () => {
    const links = new OwnerLinks(true)
    const replicaSet = { ...parent, apiVersion: 'apps/v1', kind: 'ReplicaSet' }
    assert.deepEqual(links.wanted(owned('Pod', replicaSet, other)), [other])
    assert.deepEqual(links.wanted(owned('Secret', replicaSet)), [replicaSet])
  })

  it('are dropped where the restore says so', () => {
    const links = new OwnerLinks(false)
    links.learn('old-a', 'new-a')
    assert.deepEqual(links.wanted(owned('Secret', parent)), [])
    const restore = (annotations: Record<string, string>) => ({
      apiVersion: 'velero.io/v1',
      kind: 'Restore',
      metadata: { name: 'r', annotations },
      spec: {},
    })
    assert.equal(relinksOwners(restore({ [relinkOwnersAnnotation]: 'false' })), false)
    assert.equal(relinksOwners(restore({})), true)
  })

  it('join those that the cluster has set, of which a controller stays the only one', () => {
    const adopter = { ...parent, name: 'c', uid: 'new-c' }
    assert.deepEqual(joinReferences([adopter], [parent, other]), [adopter, other])
    assert.deepEqual(joinReferences([other], [parent, other]), [other, parent])
  })
})
