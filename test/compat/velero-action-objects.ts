import type { Restore } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { deploymentOfServer } from './plugin-scene.ts'

/** Where the objects are, and where the server is whose actions look at them. */
export interface ActionPlaces {
  /** Namespace of the objects. */
  shop: string
  /** Namespace of the server. */
  namespace: string
}

/** The kinds of actions that Velero's own program has and Lateen has built in. */
export type SharedKind = 'BackupItemAction' | 'ItemBlockAction' | 'RestoreItemAction'

/** Objects for each of Velero's own actions that Lateen has too, so that each does what it is for, and once nothing. */
export function actionObjects(places: ActionPlaces): Record<SharedKind, Record<string, ActionItem[]>> {
  const { shop } = places
  const at = (name: string, more: object = {}) => ({ name, namespace: shop, ...more })
  return {
    BackupItemAction: {
      'velero.io/crd-remap-version': definitions(),
      'velero.io/pod': pods(at),
      'velero.io/pv': claims(at),
      'velero.io/service-account': accounts(at),
    },
    ItemBlockAction: {
      'velero.io/pod': pods(at),
      'velero.io/pvc': claims(at),
      'velero.io/service-account': accounts(at),
    },
    RestoreItemAction: {
      'velero.io/add-pvc-from-pod': pods(at),
      'velero.io/admission-webhook-configuration': webhooks(),
      'velero.io/apiservice': [
        {
          apiVersion: 'apiregistration.k8s.io/v1',
          kind: 'APIService',
          metadata: {
            name: 'v1.shop.example.com',
            labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' },
          },
          spec: { group: 'shop.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 1 },
        },
      ],
      'velero.io/change-image-name': workloads(at),
      'velero.io/change-storage-class': stored(at),
      'velero.io/cluster-role-bindings': [binding('ClusterRoleBinding', { name: `${shop}-all` }, shop)],
      'velero.io/crd-preserve-fields': definitions(),
      'velero.io/init-restore-hook': hooked(at),
      'velero.io/job': jobs(at),
      'velero.io/pod': pods(at),
      'velero.io/pvc': claims(at),
      'velero.io/role-bindings': [binding('RoleBinding', at('all'), shop)],
      'velero.io/secret': secrets(at),
      'velero.io/service': services(at),
      'velero.io/service-account': accounts(at),
    },
  }
}

/** A claim whose volume is in the cluster, and not one that Velero takes snapshots of by CSI. */
export function claimWithoutCsi({ shop }: ActionPlaces): ActionItem {
  const [claim] = claims((name, more) => ({ name, namespace: shop, ...more }))
  return { ...(claim as ActionItem), spec: { ...(claim?.spec as object), volumeName: `${shop}-volume` } }
}

/** What must be in the cluster for the actions that look there. */
export function objectsInCluster({ shop, namespace }: ActionPlaces): object[] {
  const config = (action: string, data: object) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: action.replace('velero.io/', 'config-'),
      namespace,
      labels: { 'velero.io/plugin-config': '', [action]: 'RestoreItemAction' },
    },
    data,
  })
  return [
    config('velero.io/change-storage-class', { old: `${shop}-new`, gone: `${shop}-missing` }),
    config('velero.io/change-image-name', {
      case1: '1.1.1.1:5000,2.2.2.2:3000',
      case2: ' docker.io , mirror.io ',
    }),
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: `${shop}-new` },
      provisioner: 'lateen.dev/none',
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `${shop}-volume` },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        hostPath: { path: '/nowhere' },
        claimRef: { kind: 'PersistentVolumeClaim', namespace: shop, name: 'data' },
      },
    },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'till', namespace: shop } },
    // One of Velero's actions looks for it.
    { ...deploymentOfServer, metadata: { ...deploymentOfServer.metadata, namespace } },
    ...pods((name, more) => ({ name, namespace: shop, ...more }))
      .slice(0, 1)
      .map(schedulable),
    binding('ClusterRoleBinding', { name: `${shop}-one` }, shop),
    binding('ClusterRoleBinding', { name: `${shop}-two` }, 'elsewhere'),
    {
      ...binding('ClusterRoleBinding', { name: `${shop}-three` }, shop),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    },
  ]
}

/** A restore that maps namespaces and has hooks. */
export function restoreOf({ shop, namespace }: ActionPlaces): Restore {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Restore',
    metadata: { name: 'r', namespace, uid: '0c3a1a0e-0000-4000-8000-000000000001' },
    spec: {
      backupName: 'b',
      namespaceMapping: { [shop]: `${shop}-mapped`, elsewhere: 'there' },
      hooks: {
        resources: [
          {
            name: 'prepare',
            includedNamespaces: [`${shop}-mapped`],
            postHooks: [
              {
                init: {
                  initContainers: [{ name: 'prepare', image: 'busybox', command: ['true'] }],
                  timeout: '10m0s',
                },
              },
            ],
          },
        ],
      },
    },
  }
}

type At = (name: string, more?: object) => ActionItem['metadata']

/** As the API server takes it: without volumes of tokens and without a node. */
function schedulable(pod: ActionItem): object {
  const { containers, volumes } = pod.spec as { containers: object[]; volumes: { name: string }[] }
  return {
    ...pod,
    spec: {
      schedulerName: 'nobody',
      automountServiceAccountToken: false,
      containers: containers.map(container => ({ ...container, volumeMounts: [] })),
      volumes: volumes.filter(({ name }) => name === 'data'),
    },
  }
}

function pods(at: At): ActionItem[] {
  const token = { name: 'till-token-abcde', secret: { secretName: 'till-token-abcde' } }
  const mounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'till-token-abcde', mountPath: '/var/run/secrets' },
  ]
  const volumes = [
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'logs', persistentVolumeClaim: { claimName: 'logs', readOnly: true } },
    { name: 'scratch', emptyDir: {} },
    token,
  ]
  return [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: at('till', { labels: { app: 'till' } }),
      spec: {
        serviceAccountName: 'till',
        nodeName: 'node-1',
        priority: 1000,
        priorityClassName: 'high',
        containers: [
          {
            name: 'main',
            image: 'till',
            volumeMounts: mounts,
            ports: [{ containerPort: 80, protocol: 'TCP' }],
          },
          { name: 'side', image: 'side', volumeMounts: mounts.slice(1) },
        ],
        initContainers: [{ name: 'first', image: 'first', volumeMounts: mounts }],
        volumes,
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: at('plain'),
      spec: { containers: [{ name: 'main', image: 'plain' }] },
    },
  ]
}

function hooked(at: At): ActionItem[] {
  const [first, plain] = pods(at) as [ActionItem, ActionItem]
  const annotations = {
    'init.hook.restore.velero.io/container-image': 'alpine',
    'init.hook.restore.velero.io/container-name': 'by-annotation',
    'init.hook.restore.velero.io/command': '["/bin/sh", "-c", "true"]',
  }
  const own = { ...plain, metadata: { ...plain.metadata, annotations } }
  return [first, own, { ...plain, metadata: { ...plain.metadata, namespace: 'elsewhere' } }]
}

function claims(at: At): ActionItem[] {
  const unbound = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'standard',
    selector: { matchLabels: { 'velero.io/x': 'y' } },
    dataSource: { kind: 'PersistentVolumeClaim', name: 'other' },
  }
  const spec = { ...unbound, volumeName: 'pv-1' }
  const annotations = {
    'pv.kubernetes.io/bind-completed': 'yes',
    'pv.kubernetes.io/bound-by-controller': 'yes',
    'volume.kubernetes.io/selected-node': 'node-1',
    'volume.kubernetes.io/storage-provisioner': 'csi',
    mine: 'kept',
  }
  const labels = { 'velero.io/restore-name': 'old', 'velero.io/backup-name': 'old', app: 'till' }
  const claim = (name: string, more: object): ActionItem => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: at(name, { annotations, labels }),
    spec,
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
    ...more,
  })
  return [
    claim('data', {}),
    claim('classless', { spec: { ...spec, storageClassName: '' } }),
    claim('pending', { spec: unbound, status: { phase: 'Pending' } }),
  ]
}

function accounts(at: At): ActionItem[] {
  const secrets = [{ name: 'till-token-abcde' }, { name: 'mine' }]
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: at('till'),
      secrets,
      imagePullSecrets: [{ name: 'pull' }],
    },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: at('other') },
  ]
}

function binding(kind: string, metadata: ActionItem['metadata'], namespace: string): ActionItem {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [
      { kind: 'ServiceAccount', name: 'till', namespace },
      { kind: 'ServiceAccount', name: 'away', namespace: 'unmapped' },
      { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'somebody' },
    ],
  }
}

function definitions(): ActionItem[] {
  const names = { plural: 'tills', singular: 'till', kind: 'Till', listKind: 'TillList' }
  const schema = { openAPIV3Schema: { type: 'object' } }
  const definition = (name: string, spec: object): ActionItem => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${name}.shop.example.com` },
    spec: { group: 'shop.example.com', names, scope: 'Namespaced', ...spec },
  })
  const version = { name: 'v1', served: true, storage: true }
  return [
    definition('tills', { versions: [{ ...version, schema }] }),
    definition('drawers', { preserveUnknownFields: true, versions: [{ ...version, schema }] }),
  ]
}

function webhooks(): ActionItem[] {
  const webhook = (sideEffects: string) => ({
    name: `${sideEffects.toLowerCase()}.shop.example.com`,
    admissionReviewVersions: ['v1'],
    clientConfig: { url: 'https://127.0.0.1:1/' },
    sideEffects,
  })
  return ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'].map(kind => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: 'shop' },
    webhooks: [webhook('Some'), webhook('None'), webhook('NoneOnDryRun'), webhook('Unknown')],
  }))
}

function workloads(at: At): ActionItem[] {
  const containers = [
    { name: 'a', image: '1.1.1.1:5000/abc:test' },
    { name: 'b', image: 'docker.io/library/b' },
    { name: 'c', image: 'untouched' },
  ]
  const template = {
    metadata: { labels: { app: 'x' } },
    spec: { containers, initContainers: containers.slice(0, 1) },
  }
  const selector = { matchLabels: { app: 'x' } }
  const workload = (apiVersion: string, kind: string, spec: object): ActionItem => ({
    apiVersion,
    kind,
    metadata: at(kind.toLowerCase()),
    spec,
  })
  return [
    workload('apps/v1', 'Deployment', { selector, template }),
    workload('apps/v1', 'StatefulSet', { selector, template, serviceName: 'x' }),
    workload('apps/v1', 'DaemonSet', { selector, template }),
    workload('apps/v1', 'ReplicaSet', { selector, template }),
    workload('v1', 'ReplicationController', { selector: { app: 'x' }, template }),
    workload('batch/v1', 'Job', { template }),
    workload('batch/v1', 'CronJob', { schedule: '* * * * *', jobTemplate: { spec: { template } } }),
    workload('v1', 'Pod', template.spec),
  ]
}

function stored(at: At): ActionItem[] {
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: at('moved'),
      spec: { ...claim, storageClassName: 'old' },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'kept' },
      spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, storageClassName: 'kept' },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: at('store'),
      spec: {
        serviceName: 'x',
        selector: { matchLabels: { app: 'x' } },
        template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { ...claim, storageClassName: 'old' } }],
      },
    },
  ]
}

function jobs(at: At): ActionItem[] {
  const labels = {
    'controller-uid': 'x',
    'batch.kubernetes.io/controller-uid': 'x',
    'job-name': 'j',
    mine: 'kept',
  }
  const matchLabels = { 'controller-uid': 'x', mine: 'kept' }
  const spec = { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] }
  return [
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: at('j', { labels }),
      spec: { selector: { matchLabels }, template: { metadata: { labels }, spec } },
    },
    { apiVersion: 'batch/v1', kind: 'Job', metadata: at('k'), spec: { template: { spec } } },
  ]
}

function secrets(at: At): ActionItem[] {
  const type = 'kubernetes.io/service-account-token'
  const data = { token: 'eA==', 'ca.crt': 'eA==', namespace: 'eA==' }
  const annotations = {
    'kubernetes.io/service-account.uid': 'x',
    'kubernetes.io/service-account.name': 'till',
  }
  const secret = (name: string, more: object): ActionItem => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: at(name), type: 'Opaque', data: { password: 'eA==' } },
    ...more,
  })
  return [
    secret('plain', {}),
    secret('till-token-abcde', { type, data, metadata: at('till-token-abcde', { annotations }) }),
    secret('made-by-hand', { type, data, metadata: at('made-by-hand', { annotations }) }),
  ]
}

function services(at: At): ActionItem[] {
  const port = (number: number, more: object = {}) => ({
    name: `p${number}`,
    port: number,
    targetPort: number,
    protocol: 'TCP',
    ...more,
  })
  const service = (name: string, spec: object, metadata: object = {}): ActionItem => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: at(name, metadata),
    spec,
  })
  const applied = JSON.stringify({ spec: { ports: [{ name: 'p80', port: 80, nodePort: 30_080 }] } })
  const managed = {
    manager: 'somebody',
    operation: 'Apply',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:spec': {
        'f:ports': { 'k:{"port":443,"protocol":"TCP"}': { '.': {}, 'f:nodePort': {}, 'f:port': {} } },
      },
    },
  }
  const ports = [
    port(80, { nodePort: 30_080 }),
    port(443, { nodePort: 30_443 }),
    port(8080, { nodePort: 31_000 }),
  ]
  const addresses = { clusterIP: '10.0.0.10', clusterIPs: ['10.0.0.10'] }
  return [
    service('inside', { ...addresses, ports: [port(80)] }),
    service('headless', { clusterIP: 'None', clusterIPs: ['None'], ports: [port(80)] }),
    service('forgotten', { ...addresses, type: 'NodePort', ports }),
    service(
      'chosen',
      { ...addresses, type: 'NodePort', ports },
      { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': applied } },
    ),
    service('owned', { ...addresses, type: 'NodePort', ports }, { managedFields: [managed] }),
    service('balanced', {
      ...addresses,
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 32_000,
      ports,
    }),
    service('elsewhere', { type: 'ExternalName', externalName: 'example.com' }),
  ]
}
