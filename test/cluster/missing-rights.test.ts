import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { RestoreKind, type RestorePhase, type RestoreSpec, ScheduleKind } from '@lateen/api'
import { clusterRules, namespaceRules, type Rights } from '../../packages/cli/src/install/cluster-role.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilAllowed } from '../../tools/cluster/until-allowed.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds } from '../../tools/test/seeds.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { putForeignBackup } from './foreign-backups.ts'
import {
  createContents,
  createPod,
  customGroup,
  takeCommonRights,
  userWith,
} from './least-privilege-scene.ts'
import { leaveMover, leaveVolume } from './lost-moves-scene.ts'
import { failedServer, spawnServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true, own: true })

const grants = ['backup', 'hooks', 'restore', 'restore-roles', 'recreate'] as const
const named: Rights = { grants, apiGroups: [customGroup] }
const all: Rights = { grants, apiGroups: ['*'] }

/** A rule that a role lacks, and what shows it. */
interface Lack {
  readonly rule: string
  readonly rights: Rights
  /** Resources that the role does not let the server read anywhere, so that the rule is all it has. */
  readonly hidden?: readonly string[]
  readonly shows: (scene: ServerScene, place: Place) => Promise<string>
  readonly says: RegExp
}

/** Where a lack is looked at. */
interface Place {
  readonly kubeconfig: string
  /** Unused by others. */
  readonly name: string
}

/** Beside the API server's own words, how to get it. */
function asks(verb: string, resource: string): RegExp {
  const asked = `ask for a role that allows "${verb}" on "${resource}"; check with: kubectl auth can-i ${verb} ${resource}`
  return new RegExp(JSON.stringify(asked).slice(1, -1).replaceAll('\\', '\\\\?').replaceAll('.', '\\.'))
}

const onlyBackups: Rights = { ...named, grants: ['backup'] }

const lacks: readonly Lack[] = [
  { rule: 'discovery', rights: named, shows: starting, says: asks('get', '/api') },
  { rule: 'read-core', rights: named, shows: starting, says: asks('get', 'namespaces') },
  { rule: 'read-groups', rights: named, shows: backingUp, says: asks('list', 'deployments.apps') },
  { rule: 'read-all', rights: all, shows: starting, says: asks('get', 'namespaces') },
  { rule: 'exec', rights: named, shows: runningHooks, says: asks('get', 'pods/exec') },
  { rule: 'watch-pods', rights: named, shows: awaitingPods, says: asks('watch', 'pods') },
  { rule: 'write-core', rights: named, shows: restoring, says: asks('create', 'namespaces') },
  { rule: 'write-groups', rights: named, shows: restoring, says: asks('create', 'deployments.apps') },
  { rule: 'write-all', rights: all, shows: restoring, says: asks('create', 'namespaces') },
  {
    rule: 'status',
    rights: named,
    shows: restoringStatus,
    says: asks('update', `sails.${customGroup}/status`),
  },
  {
    rule: 'grant',
    rights: named,
    shows: restoring,
    says: /allow the server \\"bind\\" and \\"escalate\\" on/,
  },
  { rule: 'delete-core', rights: named, shows: replacing, says: asks('delete', 'configmaps') },
  { rule: 'delete-groups', rights: named, shows: replacing, says: asks('delete', `sails.${customGroup}`) },
  { rule: 'delete-all', rights: all, shows: replacing, says: asks('delete', 'configmaps') },
  { rule: 'own-kinds', rights: named, shows: running, says: asks('watch', '[a-z]+.velero.io') },
  {
    rule: 'own-configuration',
    rights: named,
    hidden: ['configmaps'],
    shows: running,
    // Listing them is a right of another rule, too: to remove what node agents have left.
    says: asks('(get|watch)', 'configmaps'),
  },
  {
    rule: 'own-credentials',
    rights: named,
    hidden: ['secrets'],
    shows: running,
    says: /may not read the secret .*\/cloud.*Allow the server's service account to get secrets/,
  },
  { rule: 'own-jobs', rights: named, shows: running, says: asks('watch', 'jobs.batch') },
  { rule: 'own-events', rights: named, shows: refusingSchedule, says: asks('create', 'events') },
  {
    rule: 'own-lease',
    rights: onlyBackups,
    shows: leading,
    says: asks('create', 'leases.coordination.k8s.io'),
  },
  { rule: 'own-moves', rights: onlyBackups, shows: clearingUpMover, says: asks('delete', 'pods') },
  {
    rule: 'lost-volumes',
    rights: onlyBackups,
    shows: clearingUpVolume,
    says: asks('patch', 'persistentvolumes'),
  },
  {
    rule: 'snapshot-classes',
    rights: onlyBackups,
    shows: findingClass,
    says: /travelled.*cannot create resource \\*"volumesnapshotclasses/,
  },
]

describe('A server that lacks a right', { skip: given.skip }, () => {
  let scene: ServerScene

  before(async () => {
    scene = await openServerScene(given.cluster, 'lacks')
    await takeCommonRights(given.cluster)
    await createContents(given.cluster, scene.data)
    await createPod(given.cluster, { namespace: scene.data, name: 'waiting' })
    await using server = await scene.start()
    const { status } = await scene.backups.take('source', { includedNamespaces: [scene.data] })
    assert.equal(status?.phase, 'Completed')
    await server.stop()
  })
  after(() => scene[Symbol.asyncDispose]())

  it('is looked at for every rule that a role can have', () => {
    const rules = [...clusterRules(named), ...clusterRules(all), ...namespaceRules].map(({ id }) => id)
    // These need a CSI driver: csi-objects.test.ts has them.
    const elsewhere = ['snapshots', 'snapshot-status']
    assert.deepEqual(new Set([...lacks.map(({ rule }) => rule), ...elsewhere]), new Set(rules))
  })

  it('backs up namespaces all the same that it may read, when it may not read all', async () => {
    const { cluster, namespace, data } = scene
    const without = ['read-core', 'read-groups']
    const { name: user, kubeconfig } = await userWith(cluster, {
      namespace,
      user: 'guest',
      rights: named,
      without,
    })
    const read = ['--verb=get,list', '--resource=*.*']
    await cluster.kubectl(['create', 'role', user, '-n', data, ...read])
    await cluster.kubectl(['create', 'rolebinding', user, '-n', data, `--role=${user}`, `--user=${user}`])
    const roles = ['clusterroles', 'clusterrolebindings'].map(kind => `${kind}.rbac.authorization.k8s.io`)
    const wide = ['namespaces', 'persistentvolumes', ...roles]
    await cluster.kubectl(['create', 'clusterrole', user, '--verb=get,list', `--resource=${wide.join(',')}`])
    await cluster.kubectl(['create', 'clusterrolebinding', user, `--clusterrole=${user}`, `--user=${user}`])
    await untilAllowed(cluster, user, {
      verb: 'list',
      group: 'apps',
      resource: 'deployments',
      namespace: data,
    })
    await untilAllowed(cluster, user, { verb: 'list', group: '', resource: 'persistentvolumes' })
    await using server = await scene.start({ kubeconfig })
    const spec = { includedNamespaces: [data], includeClusterResources: false }
    const { status } = await scene.backups.take('guest', spec)
    await server.stop()
    const results = await scene.bucket.readJson('guest', '-results.gz')
    assert.equal(status?.phase, 'Completed', JSON.stringify(results))
    const paths = [...(await scene.bucket.unpack('guest')).keys()]
    for (const type of ['configmaps', 'deployments.apps', `sails.${customGroup}`]) {
      assert.ok(
        paths.some(path => path.startsWith(`resources/${type}/namespaces/${data}/`)),
        type,
      )
    }
  })

  const seeds = rotatingSeeds({ name: 'missing right', count: 3, soakCount: lacks.length, consecutive: true })
  for (const seed of seeds) {
    const lack = lacks[seed % lacks.length]!
    it(`says which one, when it is that of the rule ${lack.rule} (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const { namespace } = scene
      const { rule, rights, hidden = [] } = lack
      const user = `lacks-${rule}`
      const { kubeconfig } = await userWith(given.cluster, {
        namespace,
        user,
        rights,
        without: [rule],
        hidden,
      })
      const told = await lack.shows(scene, { kubeconfig, name: `${namespace}-${rule}` })
      assert.match(told, lack.says)
    })
  }
})

/** What a server says that cannot start. */
async function starting({ namespace, scratch }: ServerScene, { kubeconfig }: Place): Promise<string> {
  const { code, output } = await failedServer({ namespace, kubeconfig, scratchFolder: scratch })
  assert.notEqual(code, 0)
  return output
}

/** What a running server logs about something that it may not do. */
async function logged(
  { namespace, scratch }: ServerScene,
  options: { kubeconfig: string; leaderElection?: boolean; backupSyncPeriod?: number },
): Promise<string> {
  const { child, log, exited } = spawnServer({ namespace, scratchFolder: scratch, ...options })
  try {
    const event = await waitUntil(
      async () =>
        log.find(each => /warn|error/.test(each.level) && /forbidden|may not/.test(JSON.stringify(each))),
      { timeoutMs: 60_000, failure: () => new Error(`nothing is told:\n${JSON.stringify(log, null, 1)}`) },
    )
    return JSON.stringify(event)
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

function running(scene: ServerScene, { kubeconfig }: Place): Promise<string> {
  return logged(scene, { kubeconfig })
}

function leading(scene: ServerScene, { kubeconfig }: Place): Promise<string> {
  return logged(scene, { kubeconfig, leaderElection: true })
}

async function refusingSchedule(scene: ServerScene, { kubeconfig, name }: Place): Promise<string> {
  const schedules = scene.client.resource(ScheduleKind, scene.namespace)
  const metadata = { name, namespace: scene.namespace }
  const spec = { schedule: 'now and then', template: {} }
  await schedules.create({ apiVersion: 'velero.io/v1', kind: 'Schedule', metadata, spec })
  try {
    return await logged(scene, { kubeconfig })
  } finally {
    await schedules.delete(name)
  }
}

function clearingUpMover(scene: ServerScene, place: Place): Promise<string> {
  return clearingUp(leaveMover, scene, place)
}

function clearingUpVolume(scene: ServerScene, place: Place): Promise<string> {
  return clearingUp(leaveVolume, scene, place)
}

async function clearingUp(
  leave: typeof leaveMover,
  scene: ServerScene,
  { kubeconfig, name }: Place,
): Promise<string> {
  const forget = await leave({ ...scene, name })
  try {
    return await logged(scene, { kubeconfig })
  } finally {
    await forget()
  }
}

/** That of a backup which another cluster has put into the bucket. */
async function findingClass(scene: ServerScene, { kubeconfig }: Place): Promise<string> {
  await putForeignBackup(scene.bucket, {
    name: 'travelled',
    status: { phase: 'Completed', csiVolumeSnapshotsAttempted: 1 },
    classes: [{ metadata: { name: 'disks' }, driver: 'disk.example', deletionPolicy: 'Delete' }],
  })
  return logged(scene, { kubeconfig, backupSyncPeriod: 1_000 })
}

async function backingUp(scene: ServerScene, place: Place): Promise<string> {
  return backup(scene, place, scene.data)
}

async function runningHooks(scene: ServerScene, place: Place): Promise<string> {
  const { cluster } = scene
  const annotations = { 'pre.hook.backup.velero.io/command': '["/bin/true"]' }
  await ensureNamespace(cluster, place.name)
  await createPod(cluster, { namespace: place.name, name: 'hooked', annotations })
  return backup(scene, place, place.name)
}

/** The errors of a backup. */
async function backup(scene: ServerScene, { kubeconfig, name }: Place, namespace: string): Promise<string> {
  await using server = await scene.start({ kubeconfig })
  const { status } = await scene.backups.take(name, { includedNamespaces: [namespace] })
  const results = (await scene.bucket.readJson(name, '-results.gz')) as { errors: unknown }
  await server.stop()
  assert.equal(status?.phase, 'PartiallyFailed')
  return JSON.stringify(results.errors)
}

function restoring(scene: ServerScene, place: Place): Promise<string> {
  return restore(scene, place, { spec: {} })
}

/** Velero, too, only warns of a status that it cannot set. */
function restoringStatus(scene: ServerScene, place: Place): Promise<string> {
  const spec = { includedResources: ['sails'], restoreStatus: { includedResources: ['sails'] } }
  return restore(scene, place, { spec, phase: 'Completed' })
}

async function awaitingPods(scene: ServerScene, place: Place): Promise<string> {
  const postHooks = [{ exec: { command: ['/bin/true'], waitTimeout: '5m' } }]
  const hooks = { resources: [{ name: 'late', postHooks }] }
  await ensureNamespace(scene.cluster, place.name)
  return restore(scene, place, { spec: { includedResources: ['pods'], hooks } })
}

async function replacing(scene: ServerScene, place: Place): Promise<string> {
  const { cluster } = scene
  const { name: namespace } = place
  await cluster.kubectl(['create', 'namespace', namespace])
  const items = [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'plain', namespace }, immutable: true },
    {
      apiVersion: `${customGroup}/v1`,
      kind: 'Sail',
      metadata: { name: 'lateen', namespace },
      spec: { area: 1 },
    },
  ]
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await cluster.kubectl(['create', '-f', '-'], { stdin })
  const annotations = { 'lateen.dev/existing-resource-policy': 'recreate' }
  return restore(scene, place, { spec: { includedResources: ['configmaps', 'sails'] }, annotations })
}

/** What a restore into a namespace of its own does not do, or warns of where it completes. */
async function restore(
  scene: ServerScene,
  { kubeconfig, name }: Place,
  options: { spec: RestoreSpec; annotations?: Record<string, string>; phase?: RestorePhase },
): Promise<string> {
  const { client, namespace, data } = scene
  const { spec, annotations = {}, phase = 'PartiallyFailed' } = options
  await using server = await scene.start({ kubeconfig })
  const whole = { backupName: 'source', namespaceMapping: { [data]: name }, ...spec }
  const metadata = { name, namespace, annotations }
  await client
    .resource(RestoreKind, namespace)
    .create({ apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec: whole })
  const { status } = await scene.restores.ended(name)
  const { errors, warnings } = await scene.bucket.restoreResults(name)
  await server.stop()
  assert.equal(status?.phase, phase)
  return JSON.stringify(phase === 'Completed' ? warnings : errors)
}
