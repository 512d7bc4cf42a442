/** Values of the chart, and the flags of `lateen install` that mean the same. */
export interface ChartCase {
  readonly title: string
  readonly values: object
  readonly flags: readonly string[]
  /** By name; in flags, `FILES/name`. */
  readonly files?: Readonly<Record<string, string>>
  readonly namespace?: string
  /** Objects that only the chart makes; by default the Service for metrics. */
  readonly more?: readonly string[]
}

const onAws = { backupStorageLocation: [{ provider: 'aws', bucket: 'b' }] }
const aws = ['--provider', 'aws', '--bucket', 'b', '--no-secret', '--use-volume-snapshots=false']

export const chartCases: readonly ChartCase[] = [
  {
    title: 'locations in a bucket',
    values: {
      configuration: { ...onAws, volumeSnapshotLocation: [{ provider: 'aws' }] },
    },
    flags: ['--provider', 'aws', '--bucket', 'b', '--no-secret'],
  },
  {
    title: 'credentials, certificates, a prefix and settings of locations',
    values: {
      credentials: { secretContents: { cloud: 'key = 1\n' } },
      configuration: {
        backupStorageLocation: [
          {
            name: 'default',
            provider: 'aws',
            bucket: 'b',
            default: true,
            prefix: 'some/where',
            caCert: Buffer.from('pem').toString('base64'),
            config: { region: 'eu-1', s3ForcePathStyle: true },
          },
        ],
        volumeSnapshotLocation: [{ name: 'default', provider: 'aws', config: { region: 'eu-2' } }],
      },
    },
    files: { secret: 'key = 1\n', ca: 'pem' },
    flags: [
      ...['--provider', 'aws', '--bucket', 'b', '--secret-file', 'FILES/secret', '--cacert', 'FILES/ca'],
      ...['--prefix', 'some/where', '--backup-location-config', 'region=eu-1,s3ForcePathStyle=true'],
      ...['--snapshot-location-config', 'region=eu-2'],
    ],
  },
  {
    title: 'no locations',
    values: {},
    flags: ['--no-default-backup-location', '--use-volume-snapshots=false', '--no-secret'],
  },
  {
    title: 'another namespace',
    namespace: 'elsewhere',
    values: { configuration: onAws },
    flags: aws,
  },
  {
    title: 'node agents',
    values: {
      deployNodeAgent: true,
      deployNodeAgentWindows: true,
      credentials: { secretContents: { cloud: 'x' } },
      nodeAgent: {
        privileged: true,
        podVolumePath: '/var/k/pods',
        pluginVolumePath: '/var/k/plugins',
        priorityClassName: 'high',
        resources: { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '1', memory: '512Mi' } },
      },
      configuration: {
        ...onAws,
        features: 'EnableCSI',
        nodeAgentConfigMap: 'agents',
        backupRepositoryConfigMap: 'repos',
      },
    },
    files: { secret: 'x' },
    flags: [
      ...[
        '--provider',
        'aws',
        '--bucket',
        'b',
        '--use-volume-snapshots=false',
        '--secret-file',
        'FILES/secret',
      ],
      ...[
        '--use-node-agent',
        '--use-node-agent-windows',
        '--privileged-node-agent',
        '--kubelet-root-dir=/var/k',
      ],
      ...[
        '--node-agent-priority-class-name=high',
        '--node-agent-pod-cpu-limit=2',
        '--node-agent-pod-mem-limit=1Gi',
      ],
      ...['--node-agent-pod-cpu-request=1', '--node-agent-pod-mem-request=512Mi', '--features=EnableCSI'],
      ...['--node-agent-configmap=agents', '--backup-repository-configmap=repos'],
    ],
  },
  {
    title: 'a node agent that sees nothing of its node',
    values: { deployNodeAgent: true, nodeAgent: { disableHostPath: true }, configuration: onAws },
    flags: [...aws, '--use-node-agent', '--node-agent-disable-host-path'],
  },
  {
    title: 'settings of the server',
    values: {
      deployNodeAgent: true,
      priorityClassName: 'highest',
      // null takes a default of the chart away.
      resources: { limits: { cpu: null, memory: '1Gi' }, requests: { cpu: '250m', memory: null } },
      configuration: {
        ...onAws,
        uploaderType: 'kopia',
        features: 'EnableAPIGroupVersions,EnableCSI',
        defaultVolumesToFsBackup: true,
        defaultSnapshotMoveData: true,
        disableInformerCache: true,
        scheduleSkipImmediately: true,
        restoreOnlyMode: true,
        defaultRepoMaintainFrequency: '2h0m0s',
        garbageCollectionFrequency: '1h30m0s',
        fsBackupTimeout: '5h0m0s',
        backupRepositoryConfigMap: 'repos',
        repoMaintenanceJobConfigMap: 'jobs',
        itemBlockWorkerCount: 3,
        concurrentBackups: 2000000,
        csiSnapshotEarlyFrequentPolling: true,
      },
    },
    flags: [
      ...aws,
      ...[
        '--use-node-agent',
        '--server-priority-class-name=highest',
        '--velero-pod-cpu-limit=0',
        '--velero-pod-mem-limit=1Gi',
      ],
      ...['--velero-pod-cpu-request=250m', '--velero-pod-mem-request=0', '--uploader-type=kopia'],
      ...[
        '--features=EnableAPIGroupVersions,EnableCSI',
        '--default-volumes-to-fs-backup',
        '--default-snapshot-move-data',
      ],
      ...['--disable-informer-cache', '--schedule-skip-immediately', '--restore-only'],
      ...[
        '--default-repo-maintain-frequency=2h',
        '--garbage-collection-frequency=90m',
        '--pod-volume-operation-timeout=5h',
      ],
      ...['--backup-repository-configmap=repos', '--repo-maintenance-job-configmap=jobs'],
      ...[
        '--item-block-worker-count=3',
        '--concurrent-backups=2000000',
        '--csi-snapshot-early-frequent-polling',
      ],
    ],
  },
  {
    title: 'plugins of many names, and an image of ours',
    values: {
      image: { repository: 'host:5000/mirror/lateen', tag: 'latest' },
      plugins: pluginImages(),
      configuration: { backupStorageLocation: [{ provider: 'gcp', bucket: 'b' }] },
    },
    flags: [
      ...['--provider', 'gcp', '--bucket', 'b', '--no-secret', '--use-volume-snapshots=false'],
      ...['--image', 'host:5000/mirror/lateen:latest', '--plugins', pluginImages().join(',')],
    ],
  },
  {
    title: 'an image by its digest',
    values: { image: { repository: 'a/b', digest: digest() }, configuration: onAws },
    flags: [...aws, '--image', `a/b@${digest()}`],
  },
  {
    title: 'a role for backups and restores',
    values: { rbac: { clusterAdministrator: false }, configuration: onAws },
    flags: [...aws, '--rights', 'backup,hooks,restore,restore-roles'],
  },
  {
    title: 'a role for backups of some API groups',
    namespace: 'elsewhere',
    values: {
      rbac: {
        clusterAdministrator: false,
        rights: ['backup'],
        apiGroups: ['zoo.example.com', 'apps', 'animals.example.com'],
      },
      configuration: onAws,
    },
    flags: [...aws, '--rights=backup', '--rights-api-groups=zoo.example.com,apps,animals.example.com'],
  },
  {
    title: 'a role for all there is, for an account that exists',
    values: {
      rbac: {
        clusterAdministrator: false,
        rights: ['backup', 'hooks', 'restore', 'restore-roles', 'recreate'],
        apiGroups: ['zoo.example.com'],
      },
      serviceAccount: { server: { create: false, name: 'mine' } },
      configuration: onAws,
    },
    flags: [
      ...aws,
      ...['--rights=backup,hooks,restore,restore-roles,recreate', '--rights-api-groups=zoo.example.com'],
      '--service-account-name=mine',
    ],
  },
  {
    title: 'roles for a server and for node agents, each with an account of its own',
    values: {
      rbac: { clusterAdministrator: false, rights: ['backup'] },
      serviceAccount: { server: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:x' } } },
      deployNodeAgent: true,
      configuration: onAws,
    },
    flags: [
      ...[...aws, '--rights=backup', '--use-node-agent'],
      '--sa-annotations=eks.amazonaws.com/role-arn=arn:x',
    ],
  },
  {
    title: 'roles for a server and for node agents on Windows, for one account that exists',
    namespace: 'elsewhere',
    values: {
      rbac: { clusterAdministrator: false, rights: ['backup'] },
      serviceAccount: { server: { create: false, name: 'mine' } },
      deployNodeAgentWindows: true,
      configuration: onAws,
    },
    flags: [...aws, '--rights=backup', '--use-node-agent-windows', '--service-account-name=mine'],
  },
  {
    title: 'an account that exists and has its rights',
    values: {
      rbac: { create: false },
      serviceAccount: { server: { create: false, name: 'mine' } },
      configuration: onAws,
    },
    flags: [...aws, '--service-account-name=mine'],
  },
  {
    title: 'annotations and labels',
    values: {
      podAnnotations: { a: 'b', 'prometheus.io/port': '1' },
      podLabels: { c: 'd' },
      serviceAccount: { server: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:x' } } },
      deployNodeAgent: true,
      nodeAgent: { podAnnotations: { a: 'b', 'prometheus.io/port': '1' }, podLabels: { c: 'd' } },
      configuration: onAws,
    },
    flags: [
      ...aws,
      ...['--pod-annotations=a=b,prometheus.io/port=1', '--pod-labels=c=d', '--use-node-agent'],
      '--sa-annotations=eks.amazonaws.com/role-arn=arn:x',
    ],
  },
  {
    title: 'several servers',
    values: { replicas: 3, configuration: onAws },
    flags: [...aws, '--replicas=3'],
  },
  {
    title: 'backups on a claim',
    values: {
      deployNodeAgent: true,
      configuration: {
        backupStorageLocation: [{ provider: 'filesystem', bucket: 'b' }],
        filesystem: { claim: 'disk' },
      },
    },
    flags: [
      '--provider=filesystem',
      '--bucket=b',
      '--no-secret',
      '--filesystem-pvc=disk',
      '--use-node-agent',
    ],
  },
  {
    title: 'backups in a folder of the node',
    values: {
      metrics: { enabled: true },
      configuration: {
        backupStorageLocation: [{ provider: 'velero.io/filesystem', bucket: 'b' }],
        filesystem: { hostPath: '/srv/backups', mountPath: '/kept' },
      },
    },
    flags: [
      ...['--provider=velero.io/filesystem', '--bucket=b', '--no-secret'],
      ...['--filesystem-host-path=/srv/backups', '--backup-location-config=path=/kept'],
    ],
  },
]

function pluginImages(): string[] {
  const long = 'a-name-that-goes-on-and-on-until-it-is-longer-than-what-a-label-may-be'
  return [
    ...[
      'velero/velero-plugin-for-gcp:v1.9',
      'docker.io/velero/velero-plugin-for-gcp:v2',
      'plugin',
      'host:5000/x/y_z.w',
    ],
    ...[`registry.example.com/${long}/image:1`, `a/b@${digest()}`, 'a/b:1'],
  ]
}

function digest(): string {
  return `sha256:${'0123456789abcdef'.repeat(4)}`
}

/** Values that the chart does not take, and what is said about them. */
export const refusedValues: readonly { title: string; values: object; says: RegExp }[] = [
  { title: 'a value that there is not', values: { deployNodeAgents: true }, says: /deployNodeAgents/ },
  {
    title: 'a setting that there is not',
    values: { configuration: { defaultBackupTtl: '1h' } },
    says: /configuration.*defaultBackupTtl/s,
  },
  {
    title: 'a location without a bucket',
    values: { configuration: { backupStorageLocation: [{ provider: 'aws' }] } },
    says: /backupStorageLocation.*bucket/s,
  },
  {
    title: 'a single location in place of a list, as charts for old Veleros had it',
    values: { configuration: { backupStorageLocation: { provider: 'aws', bucket: 'b' } } },
    says: /backupStorageLocation.*array/s,
  },
  { title: 'restic', values: { configuration: { uploaderType: 'restic' } }, says: /uploaderType.*kopia/s },
  {
    title: 'a time without a unit',
    values: { configuration: { garbageCollectionFrequency: '90' } },
    says: /garbageCollectionFrequency/,
  },
  { title: 'a text for a number', values: { replicas: 'two' }, says: /replicas.*integer/s },
  {
    title: 'a text for a truth value',
    values: { deployNodeAgent: 'yes' },
    says: /deployNodeAgent.*boolean/s,
  },
  { title: 'a right that there is not', values: { rbac: { rights: ['everything'] } }, says: /rbac.*rights/s },
  {
    title: 'rights that are of no use',
    values: { rbac: { clusterAdministrator: false, rights: ['backup', 'recreate'] } },
    says: /recreate is of no use without restore/,
  },
  {
    title: 'file system backups without node agents',
    values: { configuration: { defaultVolumesToFsBackup: true } },
    says: /needs deployNodeAgent/,
  },
  {
    title: 'a provider without its plugin',
    values: { configuration: { backupStorageLocation: [{ provider: 'azure', bucket: 'b' }] } },
    says: /azure is not built in/,
  },
  {
    title: 'a folder location without a folder',
    values: { configuration: { backupStorageLocation: [{ provider: 'filesystem', bucket: 'b' }] } },
    says: /needs configuration\.filesystem\.claim/,
  },
  {
    title: 'two default locations',
    values: {
      configuration: {
        backupStorageLocation: ['a', 'b'].map(name => ({
          name,
          provider: 'aws',
          bucket: name,
          default: true,
        })),
      },
    },
    says: /only one location can be the default, and a, b are/,
  },
  {
    title: 'a schedule without a time',
    values: { schedules: { daily: { template: {} } } },
    says: /daily.*schedule/s,
  },
  {
    title: 'Jobs for definitions, which there are not',
    values: { upgradeCRDs: true, kubectl: {} },
    says: /kubectl.*upgradeCRDs|upgradeCRDs.*kubectl/s,
  },
  { title: 'other names', values: { fullnameOverride: 'mine' }, says: /fullnameOverride/ },
  {
    title: 'a mistyped resource',
    values: { resources: { request: { cpu: '1' } } },
    says: /resources.*request/s,
  },
]

/** A value for every argument of server and node agent that the chart knows. */
export const everyArgument = {
  deployNodeAgent: true,
  configuration: {
    features: 'EnableCSI',
    defaultVolumesToFsBackup: true,
    defaultSnapshotMoveData: true,
    disableInformerCache: true,
    scheduleSkipImmediately: true,
    restoreOnlyMode: true,
    backupSyncPeriod: '2m',
    clientBurst: 50,
    clientPageSize: 400,
    clientQPS: 20.5,
    concurrentBackups: 2,
    defaultBackupStorageLocation: 'main',
    defaultBackupTTL: '240h',
    defaultItemOperationTimeout: '1h',
    defaultRepoMaintainFrequency: '1h',
    defaultVolumeSnapshotLocations: 'aws:main',
    disableControllers: 'gc,backup-sync',
    fsBackupTimeout: '4h',
    garbageCollectionFrequency: '1h',
    itemBlockWorkerCount: 4,
    logFormat: 'json',
    logLevel: 'debug',
    metricsAddress: ':8085',
    pluginDir: '/plugins',
    profilerAddress: 'localhost:6060',
    restoreResourcePriorities: 'namespaces,configmaps',
    storeValidationFrequency: '2m',
    terminatingResourceTimeout: '5m',
    dataMoverPrepareTimeout: '10m',
    backupRepositoryConfigMap: 'repos',
    repoMaintenanceJobConfigMap: 'jobs',
    nodeAgentConfigMap: 'agents',
  },
}

const container = { name: 'side', image: 'a/b:1' }
const pod = {
  annotations: { a: 'b' },
  labels: { c: 'd' },
  podAnnotations: { e: 'f' },
  podLabels: { g: 'h' },
  resources: { limits: { cpu: 2, memory: '1Gi' } },
  resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
  lifecycle: { preStop: { sleep: { seconds: 1 } } },
  priorityClassName: 'system-cluster-critical',
  runtimeClassName: 'gvisor',
  tolerations: [{ key: 'a', operator: 'Exists' }],
  affinity: { podAffinity: {} },
  nodeSelector: { disk: 'ssd' },
  hostAliases: [{ ip: '127.0.0.1', hostnames: ['a.local'] }],
  dnsPolicy: 'Default',
  dnsConfig: { nameservers: ['1.1.1.1'] },
  extraVolumes: [{ name: 'more', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
}
const monitor = { enabled: true, autodetect: false, additionalLabels: { team: 'x' }, scheme: 'http' }

/** A use of every value that has no counterpart in `lateen install`. */
export const everySetting = {
  ...pod,
  ...everyArgument,
  image: { imagePullSecrets: ['pull'], pullPolicy: 'Always' },
  replicas: 2,
  revisionHistoryLimit: 3,
  secretAnnotations: { i: 'j' },
  initContainers: [container],
  terminationGracePeriodSeconds: 60,
  livenessProbe: { httpGet: { path: '/healthz', port: 'metrics' } },
  podDisruptionBudget: { enabled: true, maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  serviceAccount: {
    server: { labels: { k: 'l' }, imagePullSecrets: ['pull'], automountServiceAccountToken: false },
  },
  credentials: {
    name: 'keys',
    secretContents: { cloud: 'x' },
    extraEnvVars: { TOKEN: 'y' },
    extraSecretRef: 'more-keys',
  },
  deployNodeAgentWindows: true,
  nodeAgent: {
    ...pod,
    containerSecurityContext: { capabilities: { add: ['SYS_ADMIN'] } },
    updateStrategy: { type: 'OnDelete' },
    extraEnvVars: [{ name: 'A', value: 'b' }],
  },
  configuration: {
    ...everyArgument.configuration,
    repoMaintenanceJobConfigMap: '',
    repositoryMaintenanceJob: {
      repositoryConfigData: {
        global: { keepLatestMaintenanceJobs: 1 },
        repositories: { 'a-default-kopia': { podResources: {} } },
      },
    },
    extraEnvVars: [{ name: 'A', value: 'b' }],
    backupStorageLocation: [
      {
        name: 'one',
        provider: 'aws',
        bucket: 'a',
        default: true,
        accessMode: 'ReadOnly',
        validationFrequency: '2m',
        backupSyncPeriod: '3m',
      },
      {
        name: 'two',
        provider: 'aws',
        bucket: 'b',
        credential: { name: 'keys', key: 'cloud' },
        annotations: { m: 'n' },
      },
    ],
    volumeSnapshotLocation: [
      { name: 'one', provider: 'aws', credential: { name: 'keys', key: 'cloud' }, annotations: { o: 'p' } },
    ],
  },
  metrics: {
    serviceMonitor: monitor,
    nodeAgentPodMonitor: monitor,
    prometheusRule: { enabled: true, autodetect: false },
    service: {
      type: 'NodePort',
      nodePort: 30085,
      externalTrafficPolicy: 'Local',
      ipFamilyPolicy: 'SingleStack',
      ipFamilies: ['IPv4'],
      labels: { q: 'r' },
      annotations: { s: 't' },
    },
  },
  schedules: {
    nightly: {
      schedule: '0 3 * * *',
      paused: true,
      skipImmediately: false,
      useOwnerReferencesInBackup: true,
      labels: { u: 'v' },
      annotations: { w: 'x' },
      template: { ttl: '24h' },
    },
    never: { schedule: '0 4 * * *', disabled: true },
  },
  configMaps: { policies: { labels: { y: 'z' }, data: { 'policies.yaml': 'version: v1' } } },
  extraObjects: [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'extra', namespace: '{{ .Release.Namespace }}' },
    },
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "{{ .Release.Name }}-extra"\n',
  ],
}

/** What somebody has who used Velero's chart. */
export const veleroValues = {
  namespace: { labels: {} },
  nameOverride: '',
  fullnameOverride: '',
  upgradeCRDs: false,
  cleanUpCRDs: false,
  image: { repository: 'lateen/lateen', tag: 'v0.1.0', pullPolicy: 'IfNotPresent' },
  annotations: {},
  podAnnotations: { 'iam.amazonaws.com/role': 'arn:aws:iam::1:role/velero' },
  resources: { requests: { cpu: '500m', memory: '128Mi' }, limits: { cpu: '1000m', memory: '512Mi' } },
  dnsPolicy: 'ClusterFirst',
  livenessProbe: {
    httpGet: { path: '/metrics', port: 'http-monitoring', scheme: 'HTTP' },
    periodSeconds: 30,
  },
  initContainers: [
    {
      name: 'velero-plugin-for-aws',
      image: 'velero/velero-plugin-for-aws:v1.13.1',
      imagePullPolicy: 'IfNotPresent',
      volumeMounts: [{ mountPath: '/target', name: 'plugins' }],
    },
  ],
  containerSecurityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  metrics: {
    enabled: true,
    scrapeInterval: '30s',
    serviceMonitor: { enabled: true, additionalLabels: { release: 'p' } },
  },
  configuration: {
    backupStorageLocation: [
      {
        name: null,
        provider: 'velero.io/aws',
        bucket: 'b',
        caCert: null,
        default: true,
        accessMode: 'ReadWrite',
        credential: { name: null, key: null },
        config: { region: 'eu-1', s3ForcePathStyle: true },
      },
    ],
    volumeSnapshotLocation: [{ name: null, provider: 'velero.io/aws', config: { region: 'eu-1' } }],
    uploaderType: 'kopia',
    defaultVolumesToFsBackup: true,
    defaultBackupTTL: '72h',
    features: 'EnableCSI',
    logLevel: 'debug',
    namespace: null,
  },
  rbac: { create: true, clusterAdministrator: true, clusterAdministratorName: 'cluster-admin' },
  serviceAccount: {
    server: { create: true, name: null, annotations: { 'eks.amazonaws.com/role-arn': 'arn' } },
  },
  credentials: { useSecret: true, existingSecret: 'aws-keys' },
  backupsEnabled: true,
  snapshotsEnabled: true,
  deployNodeAgent: true,
  nodeAgent: {
    podVolumePath: '/var/lib/kubelet/pods',
    priorityClassName: 'high',
    tolerations: [{ operator: 'Exists' }],
  },
  schedules: {
    daily: { disabled: false, schedule: '0 0 * * *', template: { ttl: '240h', includedNamespaces: ['foo'] } },
  },
}
