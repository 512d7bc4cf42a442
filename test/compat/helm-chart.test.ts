import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { parseCommandLine } from '../../packages/cli/src/parse/command-line.ts'
import { globalFlags } from '../../packages/cli/src/tree/global-flags.ts'
import { commandTree } from '../../packages/cli/src/tree/root.ts'
import { parseNodeAgentConfig } from '../../packages/server/src/data-path/node-agent-config.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { type Ended, ended, type Lateen, lateenFor } from '../cluster/cli-runner.ts'
import {
  type ChartCase,
  chartCases,
  everyArgument,
  everySetting,
  refusedValues,
  veleroValues,
} from './helm-chart-cases.ts'

const chart = path.resolve(import.meta.dirname, '../../deploy/helm/lateen')
const given = await givenCluster({ own: true })

interface Installed {
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels: Record<string, string>
    annotations?: Record<string, string>
  }
  // biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
  [field: string]: any
}

type Objects = ReadonlyMap<string, Installed>

describe('The Helm chart', () => {
  let folder: string
  let lateen: Lateen

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-helm-'))
    lateen = await lateenFor('/dev/null')
  })
  after(() => rm(folder, { recursive: true }))

  async function helm(args: readonly string[], values: object = {}): Promise<Ended> {
    const file = path.join(folder, 'values.json')
    await writeFile(file, JSON.stringify(values))
    const usual = ['--kube-version', '1.34.0', '--values', file]
    const env = { PATH: process.env.PATH ?? '', HOME: folder }
    return ended(await tool('helm'), [...args, ...usual], { stdin: '', env })
  }

  async function rendered(values: object, namespace = 'velero'): Promise<Objects> {
    const args = ['template', 'some-release', chart, '--namespace', namespace, '--include-crds']
    const { status, stdout, stderr } = await helm(args, values)
    assert.equal(status, 0, stderr)
    return byName(parseAllDocuments(stdout).map(document => document.toJS()))
  }

  async function printed({ flags, files = {}, namespace }: ChartCase): Promise<Objects> {
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text)
    const placed = flags.map(flag => flag.replace('FILES', folder))
    const where = namespace === undefined ? [] : ['--namespace', namespace]
    const { status, stdout, stderr } = await lateen([
      'install',
      '--dry-run',
      '-o',
      'json',
      ...placed,
      ...where,
    ])
    assert.equal(status, 0, stderr)
    return byName(JSON.parse(stdout).items)
  }

  it('passes helm lint', async () => {
    for (const values of [{}, everySetting, veleroValues]) {
      const { status, stdout, stderr } = await helm(['lint', '--strict', chart], values)
      assert.equal(status, 0, stdout + stderr)
    }
  })

  for (const each of chartCases) {
    it(`makes what lateen install makes: ${each.title}`, async () => {
      const ours = await rendered(each.values, each.namespace)
      const theirs = await printed(each)
      for (const [name, object] of theirs) {
        // Helm makes the namespace itself, or takes one that is there.
        if (object.kind === 'Namespace') continue
        assert.deepEqual(alike(ours.get(name)), object, name)
      }
      const more = [...ours.keys()].filter(name => !theirs.has(name))
      assert.deepEqual(
        more,
        (each.more ?? [`Service ${each.namespace ?? 'velero'}/velero`]).filter(name => !theirs.has(name)),
      )
    })
  }

  it('starts the server and the node agent with arguments that they know', async () => {
    const objects = [...(await rendered(everyArgument)).values()]
    for (const kind of ['Deployment', 'DaemonSet']) {
      const workload = objects.find(object => object.kind === kind)
      const [{ args }] = workload?.spec.template.spec.containers ?? [{ args: [] }]
      assert.ok(args.length > 4)
      assert.equal(parseCommandLine(commandTree, globalFlags, args).want, 'run')
    }
  })

  it('takes values that were written for Velero', async () => {
    const objects = await rendered(veleroValues)
    const [server] = objects.get('Deployment velero/velero')?.spec.template.spec.containers ?? []
    assert.deepEqual(server.args, [
      ...['server', '--features=EnableCSI', '--default-volumes-to-fs-backup=true', '--uploader-type=kopia'],
      ...['--default-backup-ttl=72h', '--log-level=debug'],
    ])
    assert.equal(server.livenessProbe.httpGet.port, server.ports[0].name)
    assert.deepEqual(objects.get('BackupStorageLocation velero/default')?.spec, {
      provider: 'velero.io/aws',
      default: true,
      accessMode: 'ReadWrite',
      objectStorage: { bucket: 'b' },
      config: { region: 'eu-1', s3ForcePathStyle: 'true' },
    })
    const volumes = objects.get('DaemonSet velero/node-agent')?.spec.template.spec.volumes
    const secrets = volumes.flatMap((volume: { secret?: object }) => volume.secret ?? [])
    assert.deepEqual(secrets, [{ secretName: 'aws-keys', defaultMode: 0o444 }])
  })

  it('makes the ConfigMap of node agents, which start again when it changes', async () => {
    const settings = { loadConcurrency: { globalConfig: 3 }, podResources: { memoryLimit: '1Gi' } }
    const agentOf = async (configuration: object) => {
      const objects = await rendered({ deployNodeAgent: true, configuration })
      const { metadata, spec } = objects.get('DaemonSet velero/node-agent')?.spec.template ?? {}
      return { objects, annotations: metadata.annotations, args: spec.containers[0].args as string[] }
    }
    const made = await agentOf({ nodeAgentConfig: settings })
    const { data } = made.objects.get('ConfigMap velero/node-agent-config') as unknown as {
      data: Record<string, string>
    }
    assert.deepEqual(parseNodeAgentConfig(data, 'node-agent-config'), settings)
    assert.ok(made.args.includes('--node-agent-configmap=node-agent-config'))
    const other = await agentOf({ nodeAgentConfig: { ...settings, priorityClassName: 'high' } })
    assert.notDeepEqual(other.annotations, made.annotations)
    const named = await agentOf({ nodeAgentConfig: settings, nodeAgentConfigMap: 'mine' })
    assert.ok(named.args.includes('--node-agent-configmap=mine'))
    assert.ok(!named.objects.has('ConfigMap velero/node-agent-config'))
  })

  it('brings the alerts along', async () => {
    const rule = (await rendered(everySetting)).get('PrometheusRule velero/velero')
    const alerts = await readFile(path.join(chart, '../../prometheus/rules.yaml'), 'utf8')
    assert.deepEqual(rule?.spec, parse(alerts))
    const spec = [{ alert: 'Mine', expr: 'up == 0' }]
    const own = await rendered({ metrics: { prometheusRule: { enabled: true, autodetect: false, spec } } })
    assert.deepEqual(own.get('PrometheusRule velero/velero')?.spec.groups, [{ name: 'velero', rules: spec }])
  })

  for (const { title, values, says } of refusedValues) {
    it(`refuses ${title}`, async () => {
      const { status, stderr } = await helm(['template', chart], values)
      assert.notEqual(status, 0)
      assert.match(stderr, says)
    })
  }
})

describe('A release of the Helm chart', { skip: given.skip }, () => {
  const namespace = 'velero'
  let folder: string

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-release-'))
  })
  after(() => rm(folder, { recursive: true }))

  async function helm(args: readonly string[], values: object = {}): Promise<string> {
    const file = path.join(folder, 'values.json')
    await writeFile(file, JSON.stringify(values))
    const where = ['--kubeconfig', given.cluster.kubeconfigPath, '--namespace', namespace]
    const all = [...args, ...where, ...(args[0] === 'uninstall' ? [] : ['--values', file])]
    const env = { PATH: process.env.PATH ?? '', HOME: folder }
    const { status, stdout, stderr } = await ended(await tool('helm'), all, { stdin: '', env })
    assert.equal(status, 0, stderr)
    return stdout
  }

  async function names(kinds: string, ...args: string[]): Promise<string[]> {
    const found = await given.cluster.kubectl(['get', kinds, '-o', 'name', '--ignore-not-found', ...args])
    return found.split('\n').filter(Boolean)
  }

  const ours =
    'deployments,daemonsets,services,secrets,serviceaccounts,roles,rolebindings,backupstoragelocations,schedules,configmaps'
  const wide = 'clusterroles,clusterrolebindings'
  const labelled = ['-l', 'app.kubernetes.io/instance=lateen']
  const values = {
    deployNodeAgent: true,
    credentials: { secretContents: { cloud: 'key' } },
    configuration: { backupStorageLocation: [{ provider: 'aws', bucket: 'b', config: { region: 'eu-1' } }] },
    schedules: { nightly: { schedule: '0 3 * * *', template: { ttl: '24h' } } },
    configMaps: { policies: { data: { 'policies.yaml': 'version: v1' } } },
  }

  it('is taken by an API server, definitions first', async () => {
    const notes = await helm(['install', 'lateen', chart, '--create-namespace'], values)
    assert.match(notes, /lateen install --crds-only/)
    assert.deepEqual(await names(ours, '-n', namespace, ...labelled), [
      'deployment.apps/velero',
      'daemonset.apps/node-agent',
      'service/velero',
      'secret/cloud-credentials',
      'serviceaccount/velero',
      'backupstoragelocation.velero.io/default',
      'schedule.velero.io/nightly',
      'configmap/policies',
    ])
    assert.deepEqual(await names(wide, ...labelled), ['clusterrolebinding.rbac.authorization.k8s.io/velero'])
    assert.equal((await names('crds', '-l', 'component=velero')).length, 13)
  })

  it('is understood by an API server in all its settings', async () => {
    const operator = /^(Service|Pod)Monitor$|^PrometheusRule$/
    for (const each of [everySetting, veleroValues]) {
      const text = await helm(['template', 'lateen', chart, '--kube-version', '1.34.0'], each)
      const objects = parseAllDocuments(text).map(document => document.toJS() as Installed | null)
      // Kinds of an operator that is not here.
      const items = objects.filter(object => object !== null && !operator.test(object.kind))
      const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
      const strictly = ['--dry-run=server', '--validate=strict', '--force-conflicts', '--server-side']
      const told = await given.cluster.kubectl(['apply', ...strictly, '-n', namespace, '-f', '-'], { stdin })
      assert.equal(told.trim().split('\n').length, items.length)
    }
  })

  it('gives up rights when it is upgraded to fewer, and takes them back', async () => {
    const backup = {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'kept', namespace },
      spec: {},
    }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(backup) })
    const fewer = { ...values, replicas: 2, rbac: { clusterAdministrator: false, rights: ['backup'] } }
    await helm(['upgrade', 'lateen', chart], fewer)
    assert.deepEqual(await names(wide, ...labelled), [
      'clusterrole.rbac.authorization.k8s.io/lateen',
      'clusterrole.rbac.authorization.k8s.io/lateen-node-agent',
      'clusterrolebinding.rbac.authorization.k8s.io/lateen',
      'clusterrolebinding.rbac.authorization.k8s.io/lateen-node-agent',
    ])
    const replicas = await given.cluster.kubectl([
      'get',
      'deploy',
      'velero',
      '-n',
      namespace,
      '-o',
      'jsonpath={.spec.replicas}',
    ])
    assert.equal(replicas, '2')
    await helm(['upgrade', 'lateen', chart], values)
    assert.deepEqual(await names(wide, ...labelled), ['clusterrolebinding.rbac.authorization.k8s.io/velero'])
    assert.deepEqual(await names('roles,rolebindings', '-n', namespace, ...labelled), [])
  })

  it('leaves definitions and backups when it is uninstalled, and nothing else', async () => {
    await helm(['uninstall', 'lateen', '--wait'])
    assert.deepEqual(await names(ours, '-n', namespace, ...labelled), [])
    assert.deepEqual(await names(wide, ...labelled), [])
    assert.equal((await names('crds', '-l', 'component=velero')).length, 13)
    assert.deepEqual(await names('backups', '-n', namespace), ['backup.velero.io/kept'])
  })

  it('comes back over what it has left', async () => {
    await helm(['install', 'lateen', chart], values)
    assert.deepEqual(await names('deployments', '-n', namespace), ['deployment.apps/velero'])
  })

  it('goes entirely with the command that its notes name', async () => {
    await helm(['uninstall', 'lateen', '--wait'])
    await waitUntil(async () => (await names('pods', '-n', namespace)).length === 0, {
      timeoutMs: 120_000,
      failure: () => new Error('pods of the release stay'),
    })
    const lateen = await lateenFor(given.cluster.kubeconfigPath)
    const { status, stderr } = await lateen(['uninstall', '-n', namespace, '--force'])
    assert.equal(status, 0, stderr)
    assert.deepEqual(await names('crds', '-l', 'component=velero'), [])
    assert.deepEqual(await names('namespaces', '--field-selector', `metadata.name=${namespace}`), [])
  })
})

function byName(objects: readonly (Installed | null)[]): Objects {
  const found = new Map<string, Installed>()
  for (const object of objects) {
    if (object === null) continue
    const { name, namespace } = object.metadata
    const id = `${object.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
    assert.ok(!found.has(id), `${id} is there twice`)
    found.set(id, object)
  }
  return found
}

/** Labels by which Helm and its users know what belongs to a release. */
const helmLabels = [
  'app.kubernetes.io/name',
  'app.kubernetes.io/instance',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
]

/** An object without what only Helm has a use for. */
function alike(object: Installed | undefined): Installed | undefined {
  for (const label of helmLabels) delete object?.metadata.labels[label]
  // Restarts pods when the chart changes their credentials; install leaves that to who changes them.
  delete object?.spec?.template?.metadata?.annotations?.['checksum/secret']
  return object
}
