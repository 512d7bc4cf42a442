import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { type Lateen, lateenFor } from '../cluster/cli-runner.ts'
import { backTo, outcomes, settledObjects } from '../cluster/install-scene.ts'

const given = await givenCluster({ own: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)
const run = promisify(execFile)

interface Container {
  name: string
  image: string
  command: string[]
  args: string[]
  env: { name: string }[]
  volumeMounts: { mountPath: string }[]
  ports: object[]
}

interface Pod {
  containers: [Container]
  initContainers: { name: string; image: string }[]
  volumes: { name: string }[]
}

describe('lateen install over velero install, and back', {
  skip: given.skip,
  concurrency: false,
}, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-over-'))
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const secret = path.join(folder, 'credentials')
  let clean: Set<string>
  const storage = ['--provider=aws', '--bucket=b', `--secret-file=${secret}`, '--use-node-agent']
  const theirs = ['--plugins=velero/velero-plugin-for-aws:v1.14.0', '--image=velero/velero:v1.18.3']
  const ours = ['--image=lateen/lateen:1']
  after(() => rm(folder, { recursive: true }))
  before(async () => {
    await writeFile(secret, '[default]\n')
    clean = await settledObjects(given.cluster)
  })

  async function velero(...args: string[]): Promise<string> {
    const access = ['--kubeconfig', given.cluster.kubeconfigPath]
    return (await run(await tool('velero'), [...args, ...access])).stdout
  }

  async function succeed(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await lateen(args)
    assert.equal(status, 0, stderr)
    return stdout
  }

  async function podOf(workload: string): Promise<Pod> {
    const text = await kubectl(['-n', 'velero', 'get', workload, '-ojsonpath={.spec.template.spec}'])
    const pod = JSON.parse(text) as Pod
    assert.equal(pod.containers.length, 1)
    const [{ env, volumeMounts, ports }] = pod.containers
    assertUnique(env.map(({ name }) => name))
    assertUnique(volumeMounts.map(({ mountPath }) => mountPath))
    assertUnique(pod.volumes.map(({ name }) => name))
    assert.equal(ports.length, 1)
    return pod
  }

  const patch = (value: object[]) =>
    kubectl(['-n', 'velero', 'patch', 'deployment/velero', '--type=json', '-p', JSON.stringify(value)])

  it('takes over what velero install made, with what its user has added', async () => {
    await velero('install', ...storage, ...theirs, '--keep-latest-maintenance-jobs=2')
    const container = '/spec/template/spec/containers/0'
    const plugin = {
      name: 'mine',
      image: 'mine:1',
      volumeMounts: [{ name: 'plugins', mountPath: '/target' }],
    }
    await patch([
      { op: 'add', path: `${container}/args/-`, value: '--default-backup-ttl=100h' },
      { op: 'add', path: `${container}/env/-`, value: { name: 'HTTPS_PROXY', value: 'http://proxy' } },
      { op: 'add', path: '/spec/template/spec/initContainers/-', value: plugin },
    ])
    const said = await succeed('install', ...storage, ...ours, '--concurrent-backups=2')
    assert.equal(outcomes(said).get('Deployment/velero'), 'configured')
    assert.match(said, /^Deployment\/velero: keeps --default-backup-ttl=100h$/m)
    assert.match(said, /^Warning: Deployment\/velero: drops .*: --keep-latest-maintenance-jobs=2$/m)

    const pod = await podOf('deployment/velero')
    const [server] = pod.containers
    assert.equal(server.image, 'lateen/lateen:1')
    assert.deepEqual(server.args, [
      'server',
      '--uploader-type=kopia',
      '--concurrent-backups=2',
      '--default-backup-ttl=100h',
    ])
    assert.ok(server.env.some(({ name }) => name === 'HTTPS_PROXY'))
    assert.deepEqual(
      pod.initContainers.map(({ image }) => image),
      ['velero/velero-plugin-for-aws:v1.14.0', 'mine:1'],
    )
    const [agent] = (await podOf('daemonset/node-agent')).containers
    assert.deepEqual([agent.image, agent.args], ['lateen/lateen:1', ['node-agent', 'server']])
  })

  it('changes nothing when it is repeated', async () => {
    const again = outcomes(await succeed('install', ...storage, ...ours, '--concurrent-backups=2'))
    assert.deepEqual(new Set(again.values()), new Set(['unchanged']))
  })

  it('makes room for velero install, which finds everything in place', async () => {
    const said = await velero('install', ...storage, ...theirs)
    assert.match(said, /Deployment\/velero: already exists, proceeding/)
    assert.equal((await podOf('deployment/velero')).containers[0].image, 'lateen/lateen:1')
  })

  it('is taken over by velero install --apply, with nothing left that Velero does not know', async () => {
    await velero('install', '--apply', ...storage, ...theirs)
    const pod = await podOf('deployment/velero')
    const [server] = pod.containers
    assert.equal(server.image, 'velero/velero:v1.18.3')
    assert.deepEqual(server.command, ['/velero'])
    assert.deepEqual(server.args, ['server', '--features=', '--uploader-type=kopia'])
    const [agent] = (await podOf('daemonset/node-agent')).containers
    assert.equal(agent.image, 'velero/velero:v1.18.3')
    assert.deepEqual(agent.command, ['/velero'])
  })

  it('takes over again, and names what stays behind', async () => {
    const without = storage.filter(flag => flag !== '--use-node-agent')
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(resticLeftovers) })
    await untilEstablished(given.cluster, 'resticrepositories.velero.io')
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(resticRepository) })
    const said = await succeed('install', ...without, ...ours)
    assert.match(
      said,
      /^Warning: DaemonSet\/node-agent .* image velero\/velero:v1\.18\.3\. .*--use-node-agent, .*: kubectl -n velero delete daemonset node-agent$/m,
    )
    assert.match(said, /^Warning: DaemonSet\/restic .*: kubectl -n velero delete daemonset restic$/m)
    assert.match(
      said,
      /^Warning: CustomResourceDefinition\/resticrepositories\.velero\.io with 1 ResticRepository object .*: kubectl delete crd resticrepositories\.velero\.io$/m,
    )
    await kubectl(['-n', 'velero', 'get', 'daemonset/restic', 'resticrepositories/old'])
  })

  it('keeps the default location that its user has chosen since', async () => {
    await succeed('backup-location', 'set', 'default', '--default=false')
    await succeed('backup-location', 'create', 'other', '--provider=aws', '--bucket=c', '--default')
    await succeed('install', ...storage, ...ours)
    const defaults = '-ojsonpath={range .items[?(@.spec.default==true)]}{.metadata.name}{end}'
    assert.equal(await kubectl(['-n', 'velero', 'get', 'bsl', defaults]), 'other')
  })

  it('narrows rights, and gives them back, without leaving the other binding', async () => {
    const bindings = async () => {
      const names = await kubectl(['get', 'clusterrolebinding', '-lcomponent=velero', '-oname'])
      return names.trim().replaceAll('clusterrolebinding.rbac.authorization.k8s.io/', '').split('\n')
    }
    await succeed('install', ...storage, ...ours, '--rights=backup')
    assert.deepEqual(await bindings(), ['lateen', 'lateen-node-agent'])
    await succeed('install', ...storage, ...ours)
    assert.deepEqual(await bindings(), ['velero'])
  })

  it('refuses a Deployment that Helm made', async () => {
    const helm = ['-n', 'velero', 'get', 'deployment/velero', '-ojson']
    const { apiVersion, kind, spec } = JSON.parse(await kubectl(helm))
    await kubectl(['-n', 'velero', 'delete', 'deployment/velero'])
    const labels = { 'app.kubernetes.io/name': 'velero' }
    spec.selector.matchLabels = labels
    spec.template.metadata.labels = labels
    const metadata = { name: 'velero', namespace: 'velero' }
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion, kind, metadata, spec }) })
    const refused = await lateen(['install', ...storage, ...ours])
    assert.equal(refused.status, 1)
    assert.match(
      refused.stderr,
      /Deployment velero\/velero selects pods by app\.kubernetes\.io\/name=velero.*Helm/,
    )
  })

  it('removes what both have made', async () => {
    await succeed('uninstall', '--force')
    await backTo(clean, given.cluster)
  })
})

function assertUnique(names: readonly string[]): void {
  assert.deepEqual([...new Set(names)], names)
}

const resticPod = {
  metadata: { labels: { name: 'restic' } },
  spec: { containers: [{ name: 'restic', image: 'velero/velero:v1.9.0' }] },
}

/** As Velero 1.9 has them. */
const resticLeftovers = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'restic', namespace: 'velero', labels: { component: 'velero' } },
      spec: { selector: { matchLabels: { name: 'restic' } }, template: resticPod },
    },
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'resticrepositories.velero.io', labels: { component: 'velero' } },
      spec: {
        group: 'velero.io',
        scope: 'Namespaced',
        names: {
          kind: 'ResticRepository',
          listKind: 'ResticRepositoryList',
          plural: 'resticrepositories',
          singular: 'resticrepository',
        },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    },
  ],
}

const resticRepository = {
  apiVersion: 'velero.io/v1',
  kind: 'ResticRepository',
  metadata: { name: 'old', namespace: 'velero' },
}
