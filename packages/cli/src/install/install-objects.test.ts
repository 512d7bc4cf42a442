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
  metadata: { name: string; namespace?: string; labels: Record<string, string> }
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
    assert.deepEqual(mounts(withSecret), ['plugins', 'scratch', 'cloud-credentials'])
    assert.deepEqual(mounts(installed(basic)), ['plugins', 'scratch'])
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
    const kinds = installed('--provider filesystem --bucket b --no-secret').map(object => object.kind)
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
    assert.equal(windows?.spec.template.spec.securityContext, undefined)
    assert.equal(windows?.spec.template.spec.tolerations.length, 2)
  })

  it('mounts no host folders into the node agent when told so', () => {
    const agent = container(
      installed(`${basic} --use-node-agent --node-agent-disable-host-path`),
      'DaemonSet',
    )
    assert.deepEqual(
      agent.volumeMounts.map((mount: { name: string }) => mount.name),
      ['scratch'],
    )
  })
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
