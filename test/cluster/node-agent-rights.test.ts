import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { nodeAgentRightsName, type PolicyRule } from '../../packages/cli/src/install/cluster-role.ts'
import {
  nodeAgentAccountName,
  nodeAgentClusterRules,
  nodeAgentNamespaceRules,
} from '../../packages/cli/src/install/node-agent-role.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { lateenImageName } from '../../tools/image/lateen-image.ts'
import { announceSeed, rotatingSeeds } from '../../tools/test/seeds.ts'
import { createCsiPod } from './csi-scene.ts'
import { createFilesPod, type FilesPod, fsScene } from './fs-scene.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })

const namespace = 'agent-rights'
const data = 'agent-rights-data'

/** A rule that the role lacks, and where that shows. */
interface Lack {
  readonly rule: string
  /** In the message of a PodVolumeBackup, in the log of the node agent, or in that or in the objects of a snapshot whose content is moved to, or from, the repository. */
  readonly in: 'message' | 'log' | 'upload' | 'download'
  readonly says: RegExp
  /** A location that does not exist makes movers fail. */
  readonly location?: string
}

const forbidden = (verb: string, resource: string) => new RegExp(`cannot ${verb} resource \\\\*"${resource}`)

const lacks: readonly Lack[] = [
  { rule: 'agent-node', in: 'log', says: forbidden('get', 'nodes') },
  { rule: 'agent-pods', in: 'log', says: forbidden('list', 'pods') },
  { rule: 'agent-volumes', in: 'message', says: forbidden('get', 'persistentvolumeclaims') },
  { rule: 'agent-rebind', in: 'download', says: forbidden('patch', 'persistentvolume') },
  { rule: 'agent-storage-classes', in: 'upload', says: forbidden('get', 'storageclasses') },
  { rule: 'agent-snapshots', in: 'upload', says: forbidden('get', 'volumesnapshot') },
  { rule: 'agent-claims', in: 'upload', says: forbidden('create', 'persistentvolumeclaims') },
  { rule: 'agent-copies', in: 'upload', says: forbidden('list', '(secrets|configmaps)') },
  { rule: 'agent-new-repositories', in: 'upload', says: forbidden('create', 'backuprepositories') },
  { rule: 'agent-moves', in: 'log', says: forbidden('list', '(podvolume|data)') },
  { rule: 'agent-repositories', in: 'message', says: forbidden('list', 'backuprepositories') },
  {
    rule: 'agent-credentials',
    in: 'message',
    says: /may not read the secret|cannot get resource "secrets"/,
  },
  { rule: 'agent-configuration', in: 'log', says: forbidden('get', 'configmaps') },
  { rule: 'agent-daemonset', in: 'message', says: forbidden('get', 'daemonsets') },
  { rule: 'agent-movers', in: 'message', says: forbidden('create', 'pods') },
  { rule: 'agent-logs', in: 'log', says: forbidden('get', 'pods/log'), location: 'nowhere' },
  { rule: 'agent-events', in: 'log', says: forbidden('list', 'events') },
]

describe('Node agents with roles of their own', { skip: given.skip, concurrency: false }, async () => {
  const kubectl = (...args: string[]) => given.cluster.kubectl(args)
  const inOwn = (...args: string[]) => kubectl('-n', namespace, ...args)
  let pod: FilesPod
  /** Namespaces that came later. */
  const more: string[] = []

  before(async () => {
    await kubectl('create', 'namespace', namespace)
    await kubectl('label', 'namespace', namespace, 'component=velero')
    await inOwn('create', 'configmap', 'agents', '--from-literal=settings={}')
  })
  const flags = ['--rights=backup,restore', '--node-agent-configmap=agents']
  const scene = await fsScene(given, { namespace, flags })
  before(async () => {
    await kubectl('create', 'namespace', data)
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      // Not the folder of the node that it would be else, which nobody backs up.
      metadata: { name: 'disk', namespace: data, annotations: { volumeType: 'local' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16Mi' } } },
    }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(claim) })
    const volumes = { disk: { persistentVolumeClaim: { claimName: 'disk' } } }
    pod = await createFilesPod(given.cluster, { namespace: data, volumes })
    await pod.run('echo kept > /disk/file')
  })
  after(async () => {
    const names = ['lateen', nodeAgentAccountName].map(name => `${name}-${namespace}`)
    await kubectl('delete', 'clusterroles,clusterrolebindings', '--ignore-not-found', ...names)
    await kubectl('delete', 'namespace', data, ...more, '--wait=false', '--ignore-not-found')
  })

  const accountOf = (workload: string) =>
    inOwn('get', workload, '-o', 'jsonpath={.spec.template.spec.serviceAccountName}')
  const agentLog = (...which: string[]) => inOwn('logs', '-l', 'name=node-agent', '--tail=-1', ...which)

  it("run under an account of their own, and not under the server's", async () => {
    assert.equal(await accountOf('daemonset/node-agent'), nodeAgentAccountName)
    assert.equal(await accountOf('deployment/velero'), 'velero')
  })

  it('back up a volume and restore it, and are refused nothing', async () => {
    const before = await pod.tree('/disk')
    const fs = ['--default-volumes-to-fs-backup', '--wait']
    await scene.succeed('backup', 'create', 'whole', `--include-namespaces=${data}`, ...fs)
    await kubectl('delete', 'namespace', data, '--timeout=300s')
    await scene.succeed('restore', 'create', 'whole', '--from-backup=whole', '--wait')
    await pod.ready()
    assert.equal(await pod.tree('/disk'), before)
    const moves = [...(await scene.podVolumeBackups()), ...(await scene.podVolumeRestores())]
    assert.deepEqual(
      moves.map(({ kind, status }) => `${kind} ${status?.phase}`),
      ['PodVolumeBackup Completed', 'PodVolumeRestore Completed'],
    )
    assert.doesNotMatch(await agentLog(), /forbidden/i)
    assert.doesNotMatch(await inOwn('logs', 'deployment/velero', '--tail=-1'), /forbidden/i)
  })

  it('are looked at without each of their rules', () => {
    const rules = [...nodeAgentClusterRules, ...nodeAgentNamespaceRules].map(({ id }) => id)
    assert.deepEqual(new Set(lacks.map(({ rule }) => rule)), new Set(rules))
  })

  const seeds = rotatingSeeds({
    name: 'missing right of a node agent',
    count: 1,
    soakCount: lacks.length,
    consecutive: true,
  })
  for (const seed of seeds) {
    const lack = lacks[seed % lacks.length]!
    it(`say what they may not do without the rule ${lack.rule} (seed ${seed})`, async t => {
      announceSeed(t, seed)
      await setRoles(lack.rule)
      await restartAgents()
      const told = await asked(lack)
      let last = ''
      const isOver = async () => {
        last = await told().catch(() => '')
        return lack.in === 'message' ? /^(Completed|Failed) /.test(last) : lack.says.test(last)
      }
      const failure = () => new Error(`it is not said: ${last.slice(-2000)}`)
      await waitUntil(isOver, { timeoutMs: 120_000, everyMs: 500, failure })
      assert.match(last, lack.says)
      if (lack.in === 'message') assert.match(last, /^Failed /)
      await setRoles()
    })
  }

  it("are put under the server's account when that may do everything again, and missed when it may not", async () => {
    const nothing = ['--no-default-backup-location', '--use-volume-snapshots=false', '--no-secret']
    const install = ['install', ...nothing, `--image=${lateenImageName}`]
    const said = await scene.succeed(...install, '--use-node-agent')
    const binding = nodeAgentRightsName(namespace)
    assert.match(said, new RegExp(`ClusterRoleBinding/${binding}: removed, other rights take its place`))
    assert.equal(await accountOf('daemonset/node-agent'), 'velero')
    assert.equal(await kubectl('get', 'clusterrolebinding', binding, '--ignore-not-found'), '')
    const without = await scene.succeed(...install, '--rights=backup')
    assert.match(without, /^Warning: DaemonSet\/node-agent .* its account may not do its work any more\. /m)
  })

  /** Gives the roles their rules, but for one. */
  async function setRoles(without?: string): Promise<void> {
    const rulesOf = (named: readonly { id: string; rule: PolicyRule }[]) =>
      named.filter(({ id }) => id !== without).map(({ rule }) => rule)
    const patch = (named: readonly { id: string; rule: PolicyRule }[]) =>
      ['--type=merge', '-p', JSON.stringify({ rules: rulesOf(named) })] as const
    await kubectl('patch', 'clusterrole', nodeAgentRightsName(namespace), ...patch(nodeAgentClusterRules))
    await inOwn('patch', 'role', nodeAgentAccountName, ...patch(nodeAgentNamespaceRules))
  }

  /** What they watch already they would go on to see. */
  async function restartAgents(): Promise<void> {
    await inOwn('delete', 'pod', '-l', 'name=node-agent', '--grace-period=0', '--force')
    await waitUntil(async () => /\S/.test(await agentLog().catch(() => '')), {
      timeoutMs: 120_000,
      failure: () => new Error('the node agent does not come back'),
    })
  }

  /** Asks node agents for what they need a rule for; returns where it is told what came of it. */
  async function asked(lack: Lack): Promise<() => Promise<string>> {
    const logs = () =>
      Promise.all([agentLog(), agentLog('--previous').catch(() => '')]).then(parts => parts.join('\n'))
    if (lack.in === 'upload' || lack.in === 'download') {
      await moveSnapshot(lack)
      return async () => `${await logs()}\n${await inOwn('get', 'datauploads,datadownloads', '-o', 'json')}`
    }
    const name = await createBackup(lack)
    if (lack.in === 'log') return logs
    return () => inOwn('get', 'podvolumebackup', name, '-o', 'jsonpath={.status.phase} {.status.message}')
  }

  /** Has the content of a snapshot moved; for a download, with all rights first. */
  async function moveSnapshot({ in: way, rule }: Lack): Promise<void> {
    const from = `${data}-${rule}`
    const claimed = await createCsiPod(given.cluster, { namespace: from, claims: { disk: {} } })
    await claimed.run('echo moved > /disk/file')
    more.push(from, `${from}-back`)
    const create = ['backup', 'create', from, `--include-namespaces=${from}`, '--snapshot-move-data']
    const only = '--include-resources=persistentvolumeclaims,persistentvolumes'
    if (way === 'upload') return void (await scene.succeed(...create, only))
    await setRoles()
    await scene.succeed(...create, only, '--wait')
    await setRoles(rule)
    const mapping = `--namespace-mappings=${from}:${from}-back`
    await scene.succeed('restore', 'create', from, `--from-backup=${from}`, mapping)
  }

  /** As a server makes it. */
  async function createBackup({ rule, location = 'default' }: Lack): Promise<string> {
    const of = JSON.parse(await kubectl('-n', data, 'get', 'pod', pod.name, '-o', 'json'))
    const name = `without-${rule}-${Math.random().toString(36).slice(2, 8)}`
    const object = {
      apiVersion: 'velero.io/v1',
      kind: 'PodVolumeBackup',
      metadata: { name, namespace },
      spec: {
        node: of.spec.nodeName,
        pod: { kind: 'Pod', namespace: data, name: pod.name, uid: of.metadata.uid },
        volume: 'disk',
        backupStorageLocation: location,
        repoIdentifier: '',
        uploaderType: 'kopia',
      },
    }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) })
    return name
  }
})
