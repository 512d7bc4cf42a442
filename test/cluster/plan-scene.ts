import { type ArchivedObject, configMap, type Stored, stored } from './restore-harness.ts'

/** A cluster with things in it, and a backup of others. Names end in `id`, so that several scenes have room in one cluster. */
export interface PlanScene {
  /** Namespaces that exist, that is: not the one for the mapping. */
  readonly live: string
  readonly mapping: Record<string, string>
  readonly modifiers: Record<string, string>
  /** To be created before anything is planned. */
  readonly existing: readonly Stored[]
  readonly backup: readonly ArchivedObject[]
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Something of everything that a restore can meet. */
export function planScene(id: string): PlanScene {
  const live = `plan-live-${id}`
  const old = `plan-old-${id}`
  const target = `plan-new-${id}`
  const group = `plan-${id}.example.com`
  return {
    live,
    mapping: { [old]: target },
    modifiers: { rules: modifiersFor(live) },
    existing: [...inCluster(live), ...refusals(live, id)],
    backup: [
      ...existingOnes(live),
      ...refusedOnes(live),
      ...accountsAndPods(live),
      ...volumes(live, id),
      ...custom({ group, live, old, id }),
      ...elsewhere(old),
    ],
  }
}

function modifiersFor(live: string): string {
  return `version: v1
resourceModifierRules:
- conditions:
    groupResource: configmaps
    resourceNameRegex: "^modified$"
    namespaces: [${live}]
  patches:
  - operation: replace
    path: /data/v
    value: by-rule
- conditions:
    groupResource: configmaps
    resourceNameRegex: "^unmodifiable$"
  patches:
  - operation: remove
    path: /data/nothing
`
}

function inCluster(live: string): Stored[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: live, labels: { plan: live } } },
    configMap({ namespace: live, name: 'same' }, { v: '1' }),
    configMap({ namespace: live, name: 'different' }, { v: 'live', more: 'live' }),
    configMap({ namespace: live, name: 'guarded' }, { v: 'live' }),
    secret(live, { name: 'fixed', value: 'live', immutable: true }),
    secret(live, { name: 'open', value: 'live' }),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: live, name: 'sailor' } },
    service(live, 'taken'),
  ]
}

/** What will refuse some of the backup. */
function refusals(live: string, id: string): Stored[] {
  const name = `plan-${id}.example.com`
  return [
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { namespace: live, name: 'few' },
      spec: { hard: { 'count/deployments.apps': '0' } },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE', 'UPDATE'],
              resources: ['configmaps'],
            },
          ],
        },
        validations: [
          {
            expression: "!has(object.data) || !('forbidden' in object.data)",
            message: 'forbidden by policy',
          },
        ],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: {
        policyName: name,
        validationActions: ['Deny'],
        matchResources: { namespaceSelector: { matchLabels: { plan: live } } },
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: [
        {
          name: 'gate.example.com',
          clientConfig: { url: 'https://127.0.0.1:1/gate' },
          rules: [
            {
              apiGroups: ['networking.k8s.io'],
              apiVersions: ['v1'],
              operations: ['CREATE'],
              resources: ['ingresses'],
            },
          ],
          namespaceSelector: { matchLabels: { plan: live } },
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Fail',
        },
      ],
    },
  ]
}

function existingOnes(live: string): ArchivedObject[] {
  return [
    stored({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: live } }),
    stored(configMap({ namespace: live, name: 'same' }, { v: '1' })),
    stored(configMap({ namespace: live, name: 'different' }, { v: 'backup' })),
    stored(configMap({ namespace: live, name: 'fresh' }, { v: 'backup' })),
    stored(configMap({ namespace: live, name: 'modified' }, { v: 'backup' })),
    stored(configMap({ namespace: live, name: 'unmodifiable' }, { v: 'backup' })),
    stored(secret(live, { name: 'fixed', value: 'backup', immutable: true })),
    stored(secret(live, { name: 'open', value: 'backup' })),
    stored(service(live, 'taken')),
    stored(service(live, 'fresh')),
  ]
}

function refusedOnes(live: string): ArchivedObject[] {
  const meta = (name: string) => ({ namespace: live, name })
  return [
    stored(configMap(meta('refused'), { forbidden: 'yes' })),
    stored(configMap(meta('guarded'), { forbidden: 'yes' })),
    { plural: 'deployments', object: deployment(live, 'too-many') },
    {
      plural: 'ingresses',
      object: {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata: meta('gated'),
        spec: { defaultBackend: { service: { name: 'taken', port: { number: 80 } } } },
      },
    },
    stored({ apiVersion: 'gone.example.com/v1', kind: 'Relic', metadata: meta('old') }),
    stored({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: meta('invalid'),
      spec: { ports: [{ port: 80 }, { port: 80 }] },
    }),
  ]
}

function accountsAndPods(live: string): ArchivedObject[] {
  const meta = (name: string) => ({ namespace: live, name })
  const account = (name: string, fields: object = {}): Stored => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: meta(name),
    ...fields,
  })
  return [
    stored(account('sailor', { imagePullSecrets: [{ name: 'pull' }] })),
    stored(account('captain')),
    stored(pod(live, 'aboard', { spec: { serviceAccountName: 'captain' } })),
    stored(pod(live, 'ashore', { spec: { serviceAccountName: 'nobody' } })),
    stored(pod(live, 'over', { status: { phase: 'Succeeded' } })),
    {
      plural: 'jobs',
      object: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: meta('over'),
        spec: {
          template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] } },
        },
        status: { completionTime: '2026-01-01T00:00:00Z' },
      },
    },
  ]
}

function volumes(live: string, id: string): ArchivedObject[] {
  const volume = (name: string, policy: string): Stored => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${name}-${id}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: policy,
      storageClassName: 'slow',
      hostPath: { path: '/nowhere' },
      claimRef: { namespace: live, name, uid: 'old' },
    },
  })
  const claim = (name: string): Stored => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace: live, name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: 'slow',
      volumeName: `${name}-${id}`,
    },
  })
  return [
    stored(volume('kept', 'Retain')),
    stored(volume('dynamic', 'Delete')),
    stored(claim('kept')),
    stored(claim('dynamic')),
  ]
}

interface CustomScene {
  group: string
  live: string
  old: string
  id: string
}

/** A kind that only the backup knows. */
function custom({ group, live, old }: CustomScene): ArchivedObject[] {
  const sail = (namespace: string, name: string, spec: object): ArchivedObject => ({
    plural: 'sails',
    object: { apiVersion: `${group}/v1`, kind: 'Sail', metadata: { namespace, name }, spec },
  })
  return [
    {
      plural: 'customresourcedefinitions',
      object: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `sails.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural: 'sails', singular: 'sail', kind: 'Sail', listKind: 'SailList' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: {
                    spec: {
                      type: 'object',
                      required: ['area'],
                      properties: { area: { type: 'integer', minimum: 1 }, cloth: { type: 'string' } },
                    },
                  },
                },
              },
            },
          ],
        },
      },
    },
    sail(live, 'main', { area: 20, cloth: 'linen' }),
    sail(live, 'torn', { area: 'none' }),
    sail(live, 'flat', { area: 0 }),
    sail(live, 'empty', {}),
    sail(old, 'jib', { area: 5 }),
  ]
}

/** What goes to a namespace that does not exist. */
function elsewhere(old: string): ArchivedObject[] {
  return [
    stored({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: old, labels: { from: 'backup' } } }),
    stored(configMap({ namespace: old, name: 'moved' }, { v: '1' })),
    stored(configMap({ namespace: old, name: 'wrong' }, { v: 1 as unknown as string })),
    { plural: 'deployments', object: deployment(old, 'moved') },
    stored(service(old, 'moved')),
    stored({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: old, name: 'mover' } }),
    {
      plural: 'rolebindings',
      object: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { namespace: old, name: 'movers' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'ServiceAccount', name: 'mover', namespace: old }],
      },
    },
  ]
}

function secret(
  namespace: string,
  { name, value, immutable = false }: { name: string; value: string; immutable?: boolean },
): Stored {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name },
    type: 'Opaque',
    data: { v: base64(value) },
    ...(immutable && { immutable }),
  }
}

function service(namespace: string, name: string): Stored {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  }
}

function deployment(namespace: string, name: string): Stored {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace, name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'busybox' }] } },
    },
  }
}

function pod(
  namespace: string,
  name: string,
  { spec = {}, ...rest }: { spec?: object; status?: object },
): Stored {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name },
    spec: { containers: [{ name: 'main', image: 'busybox' }], ...spec },
    ...rest,
  }
}
