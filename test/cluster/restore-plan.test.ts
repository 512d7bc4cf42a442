import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { RestoreSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { Results } from '../../packages/server/src/report/report.ts'
import { applyModifiers } from '../../packages/server/src/restore/modifiers/apply-modifiers.ts'
import { parseModifiers } from '../../packages/server/src/restore/modifiers/parse-modifiers.ts'
import type { ResourceModifiers } from '../../packages/server/src/restore/modifiers/resource-modifiers.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilAllowed } from '../../tools/cluster/until-allowed.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { type DonePlan, keyOf, planArchive, versionsOf } from './plan-harness.ts'
import { type PlanScene, planScene } from './plan-scene.ts'
import { randomPlanSpec } from './random-plan-spec.ts'
import {
  archiveOf,
  configMap,
  handsOn,
  type RestoreOptions,
  restoreArchive,
  stored,
} from './restore-harness.ts'

const given = await givenCluster({ own: true })

describe('A plan of a restore', { skip: given.skip, concurrency: false }, () => {
  let client: KubeClient
  const { create, get, untilRefused } = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })

  const quotaNamespace = 'plan-quota'
  const policies = ['none', 'update', 'recreate'] as const
  const scenes = new Map(policies.map(policy => [policy, planScene(policy.slice(0, 4))]))

  before(async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    client = await createKubeClient({ config, retry: { attempts: 2 } })
    for (const scene of scenes.values()) await prepare(scene)
    await prepareQuota()
    await atRest()
  })

  after(() => client[Symbol.asyncDispose]())

  async function prepare({ existing, live }: PlanScene): Promise<void> {
    await create(...existing)
    const place = ['-n', live, '--timeout=300s']
    await given.cluster.kubectl(['wait', '--for=create', 'serviceaccount/default', ...place])
    await given.cluster.kubectl(['wait', '--for=jsonpath={.status.hard}', 'quota/few', ...place])
    await untilRefused(
      configMap({ namespace: live, name: 'probe' }, { forbidden: 'yes' }),
      'forbidden by policy',
    )
    const ingress = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { namespace: live, name: 'probe' },
      spec: { defaultBackend: { service: { name: 'taken', port: { number: 80 } } } },
    }
    await untilRefused(ingress, 'gate.example.com')
  }

  /** Room for two more than the one that the cluster makes by itself. */
  async function prepareQuota(): Promise<void> {
    const place = ['-n', quotaNamespace]
    await given.cluster.kubectl(['create', 'namespace', quotaNamespace])
    const patience = '--timeout=400s'
    await given.cluster.kubectl(['wait', '--for=create', 'configmap/kube-root-ca.crt', ...place, patience])
    await given.cluster.kubectl(['create', 'quota', 'three', '--hard=count/configmaps=3', ...place])
    const counted = '--for=jsonpath={.status.used.count/configmaps}=1'
    await given.cluster.kubectl(['wait', counted, 'quota/three', ...place, patience])
  }

  /** Somebody who may read everything and change nothing. */
  async function lookerClient(): Promise<KubeClient> {
    const { kubectl } = given.cluster
    await kubectl(['create', 'serviceaccount', 'looker', '-n', 'default'])
    await kubectl(['create', 'clusterrole', 'looker', '--verb=get,list,watch', '--resource=*.*'])
    await kubectl([
      'create',
      'clusterrolebinding',
      'looker',
      '--clusterrole=looker',
      '--serviceaccount=default:looker',
    ])
    const looking = { verb: 'list', group: '', resource: 'configmaps' }
    await untilAllowed(given.cluster, 'system:serviceaccount:default:looker', looking)
    const token = (await kubectl(['create', 'token', 'looker', '-n', 'default'])).trim()
    const text = await kubectl(['config', 'view', '--raw', '--flatten', '-o', 'json'])
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'lateen-looker-')), 'config')
    const kubeconfig = JSON.parse(text)
    for (const user of kubeconfig.users) user.user = { token }
    await writeFile(file, JSON.stringify(kubeconfig))
    const made = await createKubeClient({
      config: await loadKubeConfig({ path: file }),
      retry: { attempts: 2 },
    })
    await rm(path.dirname(file), { recursive: true })
    return made
  }

  /** Controllers have done what there is to do about what was created. */
  async function atRest(): Promise<void> {
    let last = await versionsOf(client)
    for (let calm = 0; calm < 3; calm++) {
      // As long as a controller of a busy machine may take to begin.
      await sleep(1_000)
      const now = await versionsOf(client)
      if (!isDeepStrictEqual(now, last)) calm = -1
      last = now
    }
  }

  type Asked = RestoreOptions & { archive: Buffer; modifiers: ResourceModifiers }

  function asked(
    scene: PlanScene,
    policy: string,
    spec: RestoreSpec = { namespaceMapping: scene.mapping },
  ): Asked {
    const annotations = policy === 'recreate' ? { 'lateen.dev/existing-resource-policy': policy } : {}
    return {
      client,
      archive: archiveOf(...scene.backup),
      modifiers: parseModifiers(scene.modifiers),
      annotations,
      spec: { ...spec, ...(policy !== 'recreate' && { existingResourcePolicy: policy }) },
    }
  }

  /** Restores, and compares what the restore says with what the plan said. */
  async function requireSame(plan: DonePlan, { modifiers, ...options }: Asked): Promise<void> {
    const items = new Map<string, string>()
    const { outcome } = await restoreArchive({
      ...options,
      ports: {
        onItem: each => items.set(keyOf(each), comparable(`${each.item.action}: ${each.item.reason}`)),
        modify: item => applyModifiers(modifiers, item),
      },
    })
    const said = [...plan.items].map(
      ([key, { action, reason }]) => [key, comparable(`${action}: ${reason}`)] as const,
    )
    assert.deepEqual(new Map(said), items)
    assert.deepEqual(sorted(plan.results), sorted(outcome.results))
  }

  const plans = new Map<string, DonePlan>()

  function planUnder(policy: string): DonePlan {
    const plan = plans.get(policy)
    assert.ok(plan)
    return plan
  }

  it('writes nothing', async () => {
    const before = await versionsOf(client)
    for (const [policy, scene] of scenes) plans.set(policy, await planArchive(asked(scene, policy)))
    assert.deepEqual(await versionsOf(client), before)
  })

  it('marks what could not be dry-run, and why', () => {
    const { items } = planUnder('none')
    const notes = [...items].flatMap(([key, { note }]) => (note === undefined ? [] : [[key, note]]))
    assert.deepEqual(Object.fromEntries(notes), {
      'ConfigMap plan-old-none/moved': 'not dry-run: namespace absent',
      'Deployment plan-old-none/moved': 'not dry-run: namespace absent',
      'Pod plan-live-none/aboard': 'not dry-run: service account captain absent',
      'RoleBinding plan-old-none/movers': 'not dry-run: namespace absent',
      'Sail plan-live-none/main': 'not dry-run: kind absent',
      'Sail plan-old-none/jib': 'not dry-run: namespace absent, kind absent',
      'Service plan-old-none/moved': 'not dry-run: namespace absent',
      'ServiceAccount plan-old-none/mover': 'not dry-run: namespace absent',
    })
  })

  it('has each object as it is and as it would be', () => {
    const { items } = planUnder('update')
    const { live, desired } = items.get('ConfigMap plan-live-upda/different') ?? {}
    assert.deepEqual(live?.data, { v: 'live', more: 'live' })
    assert.deepEqual(desired?.data, { v: 'backup' })
    const account = items.get('ServiceAccount plan-live-upda/sailor')
    assert.deepEqual(account?.live?.imagePullSecrets, undefined)
    assert.deepEqual(account?.desired?.imagePullSecrets, [{ name: 'pull' }])
    const modified = items.get('ConfigMap plan-live-upda/modified')
    assert.equal(modified?.live, undefined)
    assert.deepEqual(modified?.desired?.data, { v: 'by-rule' })
  })

  it('adds up what a quota leaves room for', async () => {
    const objects = [0, 1, 2].map(index => configMap({ namespace: quotaNamespace, name: `cm-${index}` }))
    const { counts, remarks } = await planArchive({ client, archive: archiveOf(...objects.map(stored)) })
    assert.equal(counts.created, 3)
    assert.match(
      remarks.join(),
      /^the quota three of namespace \S+ leaves room for 2 more count\/configmaps, and 3 are to be created: 1 of them will be refused$/,
    )
  })

  it('takes a namespace that is being deleted for gone, as a restore waits for that', async () => {
    const namespace = 'plan-leaving'
    const held = configMap({ namespace, name: 'held', finalizers: ['example.com/hold'] })
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, held)
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    const archive = archiveOf(stored(configMap({ namespace, name: 'held' }, { v: '1' })))
    const { items } = await planArchive({ client, archive })
    assert.deepEqual(
      [...items.values()].map(({ kind, action, note }) => `${kind} ${action} (${note})`),
      [
        'ConfigMap created (not dry-run: namespace being deleted)',
        'Namespace created (not dry-run: it is being deleted, and a restore waits for that)',
      ],
    )
    const free = '{"metadata":{"finalizers":null}}'
    await given.cluster.kubectl(['patch', 'cm', 'held', '-n', namespace, '-p', free])
  })

  it('says the same to somebody who may only look, and which rights are missing', async () => {
    const scene = scenes.get('update')
    assert.ok(scene)
    const names = ['same', 'different', 'fresh'].map(name => `ConfigMap ${scene.live}/${name}`)
    await using looker = await lookerClient()
    const { items } = await planArchive({ ...asked(scene, 'update'), client: looker })
    const said = (plan: DonePlan['items']) =>
      names.map(name => plan.get(name)).map(each => `${each?.action}: ${each?.reason}`)
    assert.deepEqual(said(items), said(planUnder('update').items))
    assert.equal(items.get(names[1] ?? '')?.note, 'not dry-run: no right to patch')
    assert.equal(items.get(names[2] ?? '')?.note, 'not dry-run: no right to create')
  })

  for (const [policy, scene] of scenes) {
    it(`says item by item what the restore then does, under ${policy}`, async () => {
      await requireSame(planUnder(policy), asked(scene, policy))
      // Not even `recreate` deletes what could not be created again.
      assert.deepEqual((await get('cm', 'guarded', scene.live)).data, { v: 'live' })
    })
  }

  for (const seed of rotatingSeeds({ name: 'restore-plan', count: 2, soakCount: 40 })) {
    it(`says what any restore then does (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const scene = planScene(seed.toString(36))
      await prepare(scene)
      const options = asked(scene, random.pick(policies), randomPlanSpec(random, scene))
      t.diagnostic(JSON.stringify(options.spec))
      await requireSame(await planArchive(options), options)
    })
  }
})

/** What Go calls the field of a type that an object cannot be decoded to is only in the server. */
function comparable(text: string): string {
  return text.replace(/(cannot be handled as a \w+: ).*/, '$1…')
}

function sorted({ errors, warnings }: Results): unknown {
  return [errors, warnings].map(({ velero = [], cluster = [], namespaces = {} }) => ({
    velero: velero.toSorted(),
    cluster: cluster.toSorted(),
    namespaces: Object.entries(namespaces)
      .map(([name, list]) => [name, list.map(comparable).toSorted()])
      .toSorted(),
  }))
}
