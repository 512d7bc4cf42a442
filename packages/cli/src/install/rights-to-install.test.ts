import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubeObject } from '@lateen/kube'
import { clusterRoleBindingObject } from './cluster-objects.ts'
import { rightsObjects } from './cluster-role.ts'
import type { StoredBinding } from './installed-kinds.ts'
import { rightsToInstall } from './rights-to-install.ts'

const namespace = 'velero'

function rights(objects: readonly object[], waits = false, there: readonly object[] = []): string[] {
  const bindings = (objects as StoredBinding[])
    .filter(({ kind }) => kind.endsWith('Binding'))
    .map((wanted, index) => ({ wanted, present: there[index] as StoredBinding | undefined }))
  return rightsToInstall(objects as KubeObject[], { namespace, waits, bindings }).map(
    ({ verb, kind: { plural }, name }) => `${verb} ${plural}${name === undefined ? '' : `/${name}`}`,
  )
}

describe('rightsToInstall', () => {
  it('asks whether everything may be allowed to the server, where the binding is to be made', () => {
    const all = rights([clusterRoleBindingObject(namespace)])
    assert.ok(all.includes('bind clusterroles/cluster-admin'))
    assert.ok(!all.includes('delete clusterrolebindings'))
    const some = rights(
      rightsObjects({ grants: ['backup'], apiGroups: ['*'] }, { namespace, serviceAccountName: 's' }),
    )
    assert.ok(!some.some(right => right.startsWith('bind ')))
  })

  it('somebody who may not grant everything could not repeat an installation', () => {
    const binding = clusterRoleBindingObject(namespace) as StoredBinding
    const labels = { ...binding.metadata.labels, 'added-by': 'hand' }
    const stored = { ...binding, metadata: { ...binding.metadata, uid: 'u', labels } }
    const asked = (there: object) =>
      rights([binding], false, [there]).filter(right => /^(bind|delete) /.test(right))
    assert.deepEqual(asked(stored), [])
    const bind = 'bind clusterroles/cluster-admin'
    assert.deepEqual(asked({ ...stored, subjects: [] }), [bind])
    assert.deepEqual(asked({ ...stored, metadata: { name: 'velero' } }), [bind])
    const view = { ...stored, roleRef: { kind: 'ClusterRole', name: 'view' } }
    assert.deepEqual(asked(view), ['delete clusterrolebindings', bind])
  })

  it('asks for what is looked at beside the objects: bindings of other rights, other locations, pods that are waited for', () => {
    assert.deepEqual(rights([]), ['get clusterrolebindings'])
    const location = {
      apiVersion: 'velero.io/v1',
      kind: 'BackupStorageLocation',
      metadata: { name: 'default', namespace },
    }
    assert.ok(rights([location]).includes('list backupstoragelocations'))
    assert.deepEqual(rights([], true), ['get clusterrolebindings', 'list pods', 'list replicasets'])
  })
})
