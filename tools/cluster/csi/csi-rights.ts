import { type SidecarName, sidecarNames } from './csi-components.ts'

type Rule = readonly [group: string, resources: string, verbs: string]

const read = 'get list watch'
const snapshots = 'snapshot.storage.k8s.io'
const groupSnapshots = 'groupsnapshot.storage.k8s.io'
const events: Rule = ['', 'events', 'create update patch']

/** What each program may do, and not more: there is one of each, so that no leases are among it. */
const rights: Readonly<Record<SidecarName, readonly Rule[]>> = {
  'snapshot-controller': [
    events,
    ['', 'persistentvolumes', read],
    ['', 'persistentvolumeclaims', `${read} update`],
    [snapshots, 'volumesnapshotclasses', read],
    [snapshots, 'volumesnapshotcontents volumesnapshots', `${read} create update patch delete`],
    [snapshots, 'volumesnapshotcontents/status', 'patch'],
    [snapshots, 'volumesnapshots/status', 'update patch'],
    [groupSnapshots, 'volumegroupsnapshotclasses', read],
    [groupSnapshots, 'volumegroupsnapshotcontents', `${read} create update patch delete`],
    [groupSnapshots, 'volumegroupsnapshotcontents/status', 'patch'],
    [groupSnapshots, 'volumegroupsnapshots', `${read} update patch`],
    [groupSnapshots, 'volumegroupsnapshots/status', 'update patch'],
  ],
  'csi-snapshotter': [
    events,
    ['', 'secrets', 'get'],
    [snapshots, 'volumesnapshotclasses', read],
    [snapshots, 'volumesnapshotcontents', `${read} update patch`],
    [snapshots, 'volumesnapshotcontents/status', 'update patch'],
    [groupSnapshots, 'volumegroupsnapshotclasses', read],
    [groupSnapshots, 'volumegroupsnapshotcontents', `${read} update patch`],
    [groupSnapshots, 'volumegroupsnapshotcontents/status', 'update patch'],
  ],
  'csi-provisioner': [
    events,
    ['', 'secrets', 'get'],
    ['', 'nodes', read],
    ['', 'persistentvolumes', `${read} create patch delete`],
    ['', 'persistentvolumeclaims', `${read} update`],
    ['storage.k8s.io', 'storageclasses csinodes volumeattachments', read],
    [snapshots, 'volumesnapshots volumesnapshotcontents', 'get list'],
  ],
}

/** A role of each program, and the binding to its user. */
export function csiRoles(): object[] {
  return sidecarNames.flatMap(name => [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name },
      rules: rights[name].map(([group, resources, verbs]) => ({
        apiGroups: [group],
        resources: resources.split(' '),
        verbs: verbs.split(' '),
      })),
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
    },
  ])
}
