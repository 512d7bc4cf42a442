import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compareObjects, type Observed } from './compare-objects.ts'

function object(
  kind: string,
  name: string,
  fields: { metadata?: object; [field: string]: unknown } = {},
): Observed {
  return { apiVersion: 'v1', kind, ...fields, metadata: { name, ...fields.metadata } }
}

describe('compareObjects', () => {
  it('leaves aside what a cluster gives out anew', () => {
    const before = [
      object('ReplicaSet', 'web', { metadata: { uid: '1' } }),
      object('Service', 'web', {
        spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] },
        status: { a: 1 },
      }),
      object('PersistentVolumeClaim', 'data', {
        metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
        spec: { volumeName: 'one' },
      }),
      object('Pod', 'web-1', {
        metadata: { ownerReferences: [{ kind: 'ReplicaSet', name: 'web', uid: '1' }] },
        spec: {
          nodeName: 'a',
          containers: [{ volumeMounts: [{ name: 'kube-api-access-12345' }, { name: 'data' }] }],
          volumes: [{ name: 'kube-api-access-12345' }, { name: 'data' }],
        },
      }),
    ]
    const after = [
      object('ReplicaSet', 'web', { metadata: { uid: '2', labels: { 'velero.io/restore-name': 'r' } } }),
      object('Service', 'web', { spec: { clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] } }),
      object('PersistentVolumeClaim', 'data', { spec: { volumeName: 'two' } }),
      object('Pod', 'web-1', {
        metadata: { ownerReferences: [{ kind: 'ReplicaSet', name: 'web', uid: '2' }] },
        spec: {
          nodeName: 'b',
          initContainers: [{ name: 'restore-wait' }],
          containers: [{ volumeMounts: [{ name: 'kube-api-access-67890' }, { name: 'data' }] }],
          volumes: [
            { name: 'kube-api-access-67890' },
            { name: 'data' },
            { name: 'restore-wait-state', emptyDir: {} },
          ],
        },
      }),
    ]
    assert.deepEqual(compareObjects(before, after), {
      same: ['ReplicaSet web', 'Service web', 'PersistentVolumeClaim data', 'Pod web-1'],
      different: [],
      missing: [],
      added: [],
    })
  })

  it('finds fields that differ, objects that are gone, and others that came', () => {
    const before = [
      object('ConfigMap', 'page', { data: { a: '1', b: ['x', 'y'] }, metadata: { labels: { team: 'a' } } }),
      object('Service', 'database', { spec: { clusterIP: 'None' } }),
      object('Secret', 'key'),
    ]
    const after = [
      object('ConfigMap', 'page', { data: { a: '2', b: ['x'] }, metadata: { labels: { team: 'b' } } }),
      object('Service', 'database', { spec: { clusterIP: '10.0.0.1' } }),
      object('Secret', 'other'),
    ]
    assert.deepEqual(compareObjects(before, after), {
      same: [],
      different: [
        { object: 'ConfigMap page', fields: ['data.a', 'data.b.1', 'metadata.labels.team'] },
        { object: 'Service database', fields: ['spec.headless'] },
      ],
      missing: ['Secret key'],
      added: ['Secret other'],
    })
  })

  it('finds owners that are lost or are not there', () => {
    const owner = { kind: 'ReplicaSet', name: 'web', uid: '1' }
    const before = [
      object('ReplicaSet', 'web', { metadata: { uid: '1' } }),
      object('Pod', 'a', { metadata: { ownerReferences: [owner] }, spec: { containers: [] } }),
      object('Pod', 'b', { metadata: { ownerReferences: [owner] }, spec: { containers: [] } }),
    ]
    const after = [
      object('ReplicaSet', 'web', { metadata: { uid: '2' } }),
      object('Pod', 'a', { metadata: { ownerReferences: [owner] }, spec: { containers: [] } }),
      object('Pod', 'b', { spec: { containers: [] } }),
    ]
    assert.deepEqual(compareObjects(before, after).different, [
      { object: 'Pod a', fields: ['metadata.owners.0'] },
      { object: 'Pod b', fields: ['metadata.owners'] },
    ])
  })
})
