import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommandLine } from '../parse/command-line.ts'
import { readFlagValues } from '../parse/flag-values.ts'
import type { FlagValues } from '../tree/flag.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { installFlags } from '../tree/install.ts'
import { commandTree } from '../tree/root.ts'
import { installObjects } from './install-objects.ts'
import { installOptionsFrom } from './options-from-flags.ts'

interface Installed {
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels: Record<string, string>
    annotations?: Record<string, string>
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of many kinds
  [field: string]: any
}

function installed(line: string, files: { secret?: Uint8Array; caCert?: Uint8Array } = {}): Installed[] {
  const parsed = parseCommandLine(commandTree, globalFlags, ['install', ...line.split(' ').filter(Boolean)])
  assert.equal(parsed.want, 'run')
  const given = parsed.want === 'run' ? parsed.given : new Map()
  const flags = readFlagValues(installFlags, given) as FlagValues<typeof installFlags>
  const globals = readFlagValues(globalFlags, given) as FlagValues<typeof globalFlags>
  const namespace = globals.namespace ?? 'velero'
  return installObjects(
    installOptionsFrom({ flags, namespace, features: globals.features, ...files }),
  ) as Installed[]
}

function one(objects: Installed[], kind: string): Installed {
  const found = objects.filter(object => object.kind === kind)
  assert.equal(found.length, 1)
  return found[0]!
}

function container(objects: Installed[], kind: string) {
  return one(objects, kind).spec.template.spec.containers[0]
}

const basic = '--provider aws --bucket b --no-secret'

describe('installObjects', () => {
  it('lists objects in an order in which they can be created', () => {
    const kinds = installed('--provider aws --bucket b --secret-file x --use-node-agent', {
      secret: new Uint8Array([1]),
    }).map(object => object.kind)
    assert.deepEqual(kinds.slice(13), [
      'Namespace',
      'ClusterRoleBinding',
      'ServiceAccount',
      'Secret',
      'BackupStorageLocation',
      'VolumeSnapshotLocation',
      'Deployment',
      'DaemonSet',
    ])
    assert.deepEqual(new Set(kinds.slice(0, 13)), new Set(['CustomResourceDefinition']))
  })

  it('labels every object as part of the installation', () => {
    for (const object of installed(`${basic} --use-node-agent`)) {
      assert.equal(object.metadata.labels.component, 'velero', object.metadata.name)
    }
  })

  it('puts everything into the namespace asked for and names the binding after it', () => {
    const objects = installed(`${basic} -n other`)
    assert.equal(one(objects, 'ClusterRoleBinding').metadata.name, 'velero-other')
    assert.equal(one(objects, 'Namespace').metadata.name, 'other')
    for (const object of objects) {
      assert.ok(object.metadata.namespace === undefined || object.metadata.namespace === 'other')
    }
  })

  it('mounts the secret only where there is one', () => {
    const secret = new TextEncoder().encode('key')
    const withSecret = installed('--provider aws --bucket b --secret-file x', { secret })
    assert.deepEqual(one(withSecret, 'Secret').data, { cloud: 'a2V5' })
    const mounts = (objects: Installed[]) =>
      container(objects, 'Deployment').volumeMounts.map((mount: { name: string }) => mount.name)
    assert.deepEqual(mounts(withSecret), ['plugins', 'scratch', 'tmp', 'cloud-credentials'])
    assert.deepEqual(mounts(installed(basic)), ['plugins', 'scratch', 'tmp'])
  })

  it('hands settings to the server as arguments', () => {
    const { args } = container(
      installed(`${basic} --features EnableCSI --garbage-collection-frequency 90m --concurrent-backups 2`),
      'Deployment',
    )
    assert.deepEqual(args, [
      'server',
      '--features=EnableCSI',
      '--uploader-type=kopia',
      '--garbage-collection-frequency=1h30m0s',
      '--concurrent-backups=2',
    ])
  })

  it('uses an existing service account without making or binding one', () => {
    const objects = installed(`${basic} --service-account-name mine`)
    assert.equal(one(objects, 'Deployment').spec.template.spec.serviceAccountName, 'mine')
    assert.ok(!objects.some(object => ['ServiceAccount', 'ClusterRoleBinding'].includes(object.kind)))
  })

  it('puts certificates and prefix into the location', () => {
    const location = one(
      installed(`${basic} --prefix p`, { caCert: new TextEncoder().encode('pem') }),
      'BackupStorageLocation',
    )
    assert.deepEqual(location.spec.objectStorage, { bucket: 'b', prefix: 'p', caCert: 'cGVt' })
    assert.equal(location.spec.default, true)
  })

  it('makes no snapshot location for a folder', () => {
    const kinds = installed('--provider filesystem --bucket b --no-secret --filesystem-pvc disk').map(
      object => object.kind,
    )
    assert.ok(!kinds.includes('VolumeSnapshotLocation'))
  })

  it('pulls an image with a fixed tag once and any other every time', () => {
    const policy = (image: string) =>
      container(installed(`${basic} --image ${image}`), 'Deployment').imagePullPolicy
    assert.equal(policy('a/b:1'), 'IfNotPresent')
    assert.equal(policy('host:5000/a/b:1'), 'IfNotPresent')
    assert.equal(policy('host:5000/a/b'), 'Always')
    assert.equal(policy('a/b:latest'), 'Always')
  })

  it('keeps the node agent of Windows apart', () => {
    const [linux, windows] = installed(`${basic} --use-node-agent --use-node-agent-windows`).filter(
      object => object.kind === 'DaemonSet',
    )
    assert.equal(linux?.metadata.name, 'node-agent')
    assert.equal(windows?.metadata.name, 'node-agent-windows')
    const { containers, volumes, ...pod } = windows?.spec.template.spec ?? {}
    assert.deepEqual(pod.os, { name: 'windows' })
    assert.equal(pod.securityContext, undefined)
    assert.deepEqual(
      pod.tolerations.map(({ key, value, effect }: Record<string, string>) => `${key}=${value}:${effect}`),
      ['os=windows:NoSchedule', 'os=windows:NoExecute'],
    )
    const [term] = pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
    const wanted = { key: 'kubernetes.io/os', operator: 'In', values: ['windows'] }
    assert.deepEqual(term.matchExpressions, [wanted])
    assert.equal(containers[0].securityContext, undefined)
    const names = volumes.map(({ name }: { name: string }) => name)
    assert.deepEqual(names, ['host-pods', 'host-plugins', 'scratch'])
  })

  it('gives node agents an account of their own where the server has roles, with the same annotations', () => {
    const line = `${basic} --use-node-agent --use-node-agent-windows --sa-annotations a=b`
    const accounts = (objects: Installed[]) => ({
      made: objects
        .filter(({ kind }) => kind === 'ServiceAccount')
        .map(({ metadata }) => [metadata.name, metadata.annotations]),
      used: objects
        .filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet')
        .map(({ spec }) => spec.template.spec.serviceAccountName),
    })
    const annotations = { a: 'b' }
    assert.deepEqual(accounts(installed(line)), {
      made: [['velero', annotations]],
      used: ['velero', 'velero', 'velero'],
    })
    assert.deepEqual(accounts(installed(`${line} --rights backup`)), {
      made: [
        ['velero', annotations],
        ['lateen-node-agent', annotations],
      ],
      used: ['velero', 'lateen-node-agent', 'lateen-node-agent'],
    })
    assert.deepEqual(accounts(installed(`${line} --rights backup --service-account-name mine`)), {
      made: [],
      used: ['mine', 'mine', 'mine'],
    })
  })

  it('makes no role of node agents where there are none', () => {
    const names = installed(`${basic} --rights backup`).map(({ metadata }) => metadata.name)
    assert.ok(!names.some(name => name.includes('node-agent')), names.join(' '))
  })

  it('mounts no host folders into the node agent when told so', () => {
    const agent = container(
      installed(`${basic} --use-node-agent --node-agent-disable-host-path`),
      'DaemonSet',
    )
    assert.deepEqual(
      agent.volumeMounts.map((mount: { name: string }) => mount.name),
      ['scratch', 'tmp'],
    )
  })

  it('confines the server: not root, nothing of its image writable, no capability', () => {
    const objects = installed(basic)
    const server = container(objects, 'Deployment')
    assert.deepEqual(server.securityContext, {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: 65_532,
    })
    const pod = one(objects, 'Deployment').spec.template.spec
    assert.deepEqual(pod.securityContext, { seccompProfile: { type: 'RuntimeDefault' } })
    assert.deepEqual(
      server.env.filter((each: { name: string }) => ['HOME', 'TMPDIR'].includes(each.name)),
      [
        { name: 'HOME', value: '/tmp' },
        { name: 'TMPDIR', value: '/tmp' },
      ],
    )
  })

  it('says on the Deployment how volumes are stored', () => {
    const { metadata } = one(installed(basic), 'Deployment')
    assert.equal(metadata.labels['velero.io/uploader-type'], 'kopia')
  })

  it('lets replicas take turns, on different nodes', () => {
    const objects = installed(`${basic} --replicas 2`)
    const { spec } = one(objects, 'Deployment')
    assert.equal(spec.replicas, 2)
    assert.ok(spec.template.spec.affinity.podAntiAffinity)
    assert.ok(container(objects, 'Deployment').args.includes('--leader-elect'))
    assert.equal(one(installed(basic), 'Deployment').spec.replicas, undefined)
  })

  for (const [flag, source] of [
    ['--filesystem-pvc disk', { persistentVolumeClaim: { claimName: 'disk' } }],
    ['--filesystem-host-path /srv/b', { hostPath: { path: '/srv/b', type: 'DirectoryOrCreate' } }],
  ] as const) {
    it(`mounts a folder for backups into server and node agent (${flag})`, () => {
      const objects = installed(`--provider filesystem --bucket b --no-secret --use-node-agent ${flag}`)
      for (const kind of ['Deployment', 'DaemonSet']) {
        const { volumes } = one(objects, kind).spec.template.spec
        assert.deepEqual(volumes.at(-1), { name: 'backup-storage', ...source })
        assert.deepEqual(container(objects, kind).volumeMounts.at(-1), {
          name: 'backup-storage',
          mountPath: '/backups',
        })
      }
      const { config } = one(objects, 'BackupStorageLocation').spec
      assert.deepEqual(config, { createBucket: 'true', path: '/backups' })
      assert.equal(one(objects, 'Service').spec.ports[0].port, 8085)
      const base = { name: 'LATEEN_DOWNLOAD_URL_BASE', value: 'http://velero.velero.svc:8085' }
      assert.deepEqual(container(objects, 'Deployment').env.at(-1), base)
    })
  }

  it('mounts the folder where the location says', () => {
    const objects = installed(
      '--provider filesystem --bucket b --no-secret --filesystem-pvc disk --backup-location-config path=/elsewhere/',
    )
    assert.equal(container(objects, 'Deployment').volumeMounts.at(-1).mountPath, '/elsewhere')
    assert.equal(one(objects, 'BackupStorageLocation').spec.config.path, '/elsewhere')
  })
})

describe('arguments of containers', () => {
  const every = [
    '--features EnableCSI --use-node-agent --use-node-agent-windows --replicas 3 --restore-only',
    '--default-volumes-to-fs-backup --default-snapshot-move-data --disable-informer-cache',
    '--schedule-skip-immediately --default-repo-maintain-frequency 1h --garbage-collection-frequency 90m',
    '--pod-volume-operation-timeout 5h --backup-repository-configmap a --repo-maintenance-job-configmap b',
    '--node-agent-configmap c --item-block-worker-count 2 --concurrent-backups 3',
  ].join(' ')

  for (const line of [basic, `${basic} ${every}`]) {
    it(`are all known to the program ("install ${line}")`, () => {
      const workloads = installed(line).filter(({ kind }) => ['Deployment', 'DaemonSet'].includes(kind))
      assert.equal(workloads.length, line === basic ? 1 : 3)
      for (const { spec } of workloads) {
        const parsed = parseCommandLine(commandTree, globalFlags, spec.template.spec.containers[0].args)
        assert.ok(parsed.want === 'run')
        readFlagValues({ ...globalFlags, ...parsed.command.flags }, parsed.given)
      }
    })
  }
})

describe('installOptionsFrom', () => {
  const refused: [string, RegExp][] = [
    ['', /--provider is required/],
    ['--provider aws', /--bucket is required/],
    ['--provider aws --bucket b', /one of --secret-file and --no-secret is required/],
    ['--provider aws --bucket b --no-secret --secret-file x', /contradict/],
    ['--provider gcp --bucket b --no-secret', /--plugins is required: provider gcp is not built in/],
    ['--provider aws --bucket=-b --no-secret', /--bucket must not begin with a dash/],
    [`${basic} --no-default-backup-location`, /--bucket and --no-default-backup-location contradict/],
    [`${basic} --use-volume-snapshots=false --snapshot-location-config a=b`, /contradict/],
    [
      '--provider aws --no-default-backup-location --use-volume-snapshots=false --no-secret',
      /--provider is of no use/,
    ],
    [`${basic} --default-volumes-to-fs-backup`, /needs --use-node-agent/],
    [`${basic} --garbage-collection-frequency=-1h`, /must not be negative/],
    [`${basic} --maintenance-job-cpu-limit 1`, /not known to the server any more/],
    [`${basic} --uploader-type restic`, /^CliError: invalid uploader type 'restic', valid type: 'kopia'$/],
    [`${basic} --replicas 0`, /--replicas must be at least 1/],
    ['--provider filesystem --bucket b --no-secret', /needs a folder to keep backups in/],
    [`${basic} --filesystem-pvc a --filesystem-host-path /b`, /contradict/],
    [`${basic} --filesystem-host-path b`, /must be an absolute path/],
    ...['/', '/tmp', '/usr/share', 'relative', '/a/../usr'].map((path): [string, RegExp] => [
      `--provider filesystem --bucket b --no-secret --filesystem-pvc a --backup-location-config path=${path}`,
      /the path \S+ of --backup-location-config cannot hold backups/,
    ]),
    [`${basic} --velero-pod-cpu-request 2`, /the request 2 is above the limit 1000m/],
  ]
  for (const [line, message] of refused) {
    it(`refuses "install ${line}"`, () => {
      assert.throws(() => installed(line), message)
    })
  }

  it('needs no plugins for built-in providers, nor for others when they are named', () => {
    installed(basic)
    installed('--provider gcp --bucket b --no-secret --plugins velero/gcp:1')
    installed('--no-default-backup-location --use-volume-snapshots=false --no-secret')
  })
})
