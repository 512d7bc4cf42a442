import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { clusterFolder } from '../../tools/cluster/cluster-layout.ts'
import { clusterNames, readState } from '../../tools/cluster/cluster-state.ts'
import { processesOf } from '../../tools/cluster/process-identity.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import type { Observed } from '../../tools/quickstart/compare-objects.ts'
import { type Quickstart, runQuickstart } from '../../tools/quickstart/quickstart.ts'
import { StepTeller } from '../../tools/quickstart/step-teller.ts'
import { announceSeed, rotatingSeeds } from '../../tools/test/seeds.ts'
import { lateenFor } from './cli-runner.ts'

const given = await givenCluster({ node: true, s3: true, own: true })
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-quickstart-'))
after(() => rm(folder, { recursive: true }))

describe('The quickstart', { skip: given.skip, concurrency: false }, () => {
  const lines: string[] = []
  let done: Quickstart
  const kubectl = (...args: string[]) => given.cluster.kubectl(args)
  const inShop = (...args: string[]) => kubectl(...args, '-n', 'shop')

  before(async () => {
    const signal = new AbortController().signal
    const teller = new StepTeller({ print: line => lines.push(line), now: () => performance.now(), signal })
    done = await runQuickstart({ cluster: given.cluster, teller, signal })
  })

  const all = (objects: readonly Observed[], kind: string) => objects.filter(object => object.kind === kind)
  const one = (objects: readonly Observed[], kind: string, name: string): Observed => {
    const found = all(objects, kind).find(({ metadata }) => metadata.name === name)
    assert.ok(found, `${kind} ${name}`)
    return found
  }

  it('tells each step with its time', () => {
    const titles = lines.filter(line => /^\d+\. /.test(line)).map(line => line.split(':')[0])
    assert.deepEqual(titles, [
      '1. Install Lateen into the cluster, from an image made of this checkout',
      '2. Deploy the sample application, tools/quickstart/shop',
      '3. Back it up, with the files on its volumes',
      '4. Destroy it',
      '5. Ask what a restore would do',
      '6. Restore it',
      '7. See that it runs again',
      '8. Compare every object with what was there before',
    ])
    assert.equal(lines.filter(line => /^ {3}\[\d+\.\d s\]$/.test(line)).length, titles.length)
    assert.ok(lines.some(line => /Backup completed with status: Completed\./.test(line)))
    assert.ok(lines.some(line => /Restore completed with status: Completed\./.test(line)))
  })

  it('has installed Lateen from the image of this checkout, with its location Available', async () => {
    const image = 'jsonpath={.spec.template.spec.containers[0].image} {.status.readyReplicas}'
    const inVelero = (...args: string[]) => kubectl('-n', 'velero', 'get', ...args)
    assert.equal(await inVelero('deployment/velero', '-o', image), 'localhost/lateen:test 1')
    assert.equal(await inVelero('bsl/default', '-o', 'jsonpath={.status.phase}'), 'Available')
    assert.equal(await inVelero('daemonset/node-agent', '-o', 'jsonpath={.status.numberReady}'), '1')
  })

  it('brings every object back as it was, owners included', () => {
    assert.deepEqual({ ...done.comparison, same: [] }, { same: [], different: [], missing: [], added: [] })
    const kinds = new Set(done.after.map(({ kind }) => kind))
    for (const kind of [
      ...[
        'Namespace',
        'ServiceAccount',
        'Role',
        'RoleBinding',
        'ClusterRole',
        'ClusterRoleBinding',
        'ConfigMap',
      ],
      ...[
        'Secret',
        'Service',
        'Ingress',
        'Deployment',
        'ReplicaSet',
        'StatefulSet',
        'ControllerRevision',
        'Pod',
      ],
      ...['PersistentVolumeClaim', 'CustomResourceDefinition', 'Promotion'],
    ]) {
      assert.ok(kinds.has(kind), kind)
    }
  })

  it('had really destroyed it', () => {
    const uids = new Set(done.before.map(({ metadata }) => metadata.uid))
    assert.deepEqual(
      done.after.filter(({ metadata }) => uids.has(metadata.uid)).map(({ metadata }) => metadata.name),
      [],
    )
  })

  it('leaves the pods that it restored running, with their controllers', async () => {
    const pods = all(done.after, 'Pod')
    const names = pods.map(({ metadata }) => metadata.name ?? '')
    await inShop('wait', '--for=condition=Ready', '--timeout=60s', ...names.map(name => `pod/${name}`))
    const now = JSON.parse(await inShop('get', 'pods', '-o', 'json')).items as Observed[]
    assert.deepEqual(
      new Set(now.map(({ metadata }) => metadata.uid)),
      new Set(pods.map(({ metadata }) => metadata.uid)),
    )
    const set = one(done.after, 'StatefulSet', 'database')
    for (const { metadata } of now.filter(each => each.metadata.labels?.app === 'database')) {
      assert.deepEqual(
        metadata.ownerReferences?.map(({ uid, controller }) => ({ uid, controller })),
        [{ uid: set.metadata.uid, controller: true }],
      )
    }
  })

  it('binds the claims of the StatefulSet, under their names, to volumes again', async () => {
    const claims = (objects: readonly Observed[]) =>
      all(objects, 'PersistentVolumeClaim').map(({ metadata }) => metadata.name)
    assert.deepEqual(claims(done.after), ['data-database-0', 'data-database-1'])
    assert.deepEqual(claims(done.before), claims(done.after))
    const bound = await inShop('get', 'pvc', '-o', 'jsonpath={.items[*].status.phase}')
    assert.equal(bound, 'Bound Bound')
    assert.equal((await done.shop.volumes()).length, 2)
  })

  it('lets the StatefulSet go on where it was: a third replica comes, the others stay', async () => {
    const uids = () =>
      inShop('get', 'pod', 'database-0', 'database-1', '-o', 'jsonpath={.items[*].metadata.uid}')
    const earlier = await uids()
    await inShop('scale', 'statefulset/database', '--replicas=3')
    await done.shop.running()
    assert.equal(await uids(), earlier)
    await inShop('get', 'pod', 'database-2')
  })

  it('serves the custom resource in both versions', async () => {
    for (const version of ['v1', 'v1beta1']) {
      const text = await inShop('get', `promotions.${version}.shop.example.com`, 'autumn', '-o', 'json')
      const { apiVersion, spec } = JSON.parse(text)
      assert.deepEqual(
        { apiVersion, spec },
        { apiVersion: `shop.example.com/${version}`, spec: { percent: 20, products: ['umbrella', 'boots'] } },
      )
    }
  })

  it('gives the service account its rights again, and no others', async () => {
    const can = (...words: string[]) =>
      inShop('auth', 'can-i', ...words, '--as=system:serviceaccount:shop:shop').then(
        text => text.trim(),
        () => 'no',
      )
    assert.equal(await can('list', 'configmaps'), 'yes')
    assert.equal(await can('list', 'nodes'), 'yes')
    assert.equal(await can('list', 'secrets'), 'no')
  })

  it('brings the rows of its database back, from the files on a volume that was destroyed', async () => {
    const { count, sum } = await done.shop.orders()
    assert.equal(count, 1000)
    const all = Array.from({ length: 1000 }, (_, at) => `${at + 1}an umbrella ${at + 1}`).join(',')
    assert.equal(sum, createHash('md5').update(all).digest('hex'))
    assert.equal(lines.filter(line => line.includes(`has 1000 orders, with the sum ${sum}`)).length, 2)
  })

  it('has run the hooks of the restored pods, when the database answered', async () => {
    assert.deepEqual(await done.shop.journal(), [
      'database-0 started',
      'database-0 started',
      'checked after a restore',
    ])
  })

  it('has had the database write everything to its disk before that was read', async () => {
    const log = await lateenFor(given.cluster.kubeconfigPath)
    const { stdout } = await log(['backup', 'describe', 'shop', '--details'])
    assert.match(stdout, /HooksAttempted:\s+2\n\s*HooksFailed:\s+0\n/)
    assert.match(stdout, /Completed:\n\s+shop\/database-0: data/)
  })

  it('could do the same without a server: a copy out of a folder, hooks included', async () => {
    const lateen = await lateenFor(given.cluster.kubeconfigPath)
    const local = ['--local', path.join(folder, 'bucket')]
    const taken = await lateen(['backup', 'create', 'here', '--include-namespaces=shop', ...local])
    assert.equal(taken.status, 0, taken.stdout + taken.stderr)
    const mapping = '--namespace-mappings=shop:shop-copy'
    const made = await lateen(['restore', 'create', 'there', '--from-backup=here', mapping, ...local])
    assert.match(
      made.stdout,
      /completed with status: Completed: [\s\S]*Its log and results are in /,
      made.stderr,
    )
    const inCopy = (...args: string[]) => kubectl('-n', 'shop-copy', ...args)
    await inCopy('rollout', 'status', 'statefulset/database', '--timeout=180s')
    // Files of volumes need a node agent: this copy has a database of its own.
    const select = ['psql', '-qAtc', 'SELECT line FROM journal ORDER BY id']
    const journal = await inCopy('exec', 'database-0', '-c', 'database', '--', ...select)
    assert.deepEqual(journal.trim().split('\n'), ['database-0 started', 'checked after a restore'])
  })
})

describe('npm run quickstart', { skip: given.skip }, () => {
  const script = path.resolve(import.meta.dirname, '../../tools/quickstart/run.ts')
  const name = `quickstart-${process.pid}`

  const canBeStopped = async () => (await readState(name))?.supervisor !== undefined
  // What it says last before it is interrupted; another moment in each run of the tests.
  const moments = ['1. Start Kubernetes', '2. Install Lateen', 'The node has the image', '$ lateen install']

  for (const seed of rotatingSeeds({ name: 'interrupted-quickstart', count: 1, soakCount: 8 })) {
    const moment = moments[seed % moments.length] ?? ''
    it(`leaves nothing behind when it is interrupted after it said "${moment}" (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const child = spawn(process.execPath, [script, '--name', name], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      await waitUntil(async () => (await canBeStopped()) && said.includes(moment), {
        timeoutMs: 600_000,
        failure: () => new Error(`it does not come to that: ${said}`),
      })
      child.kill('SIGINT')
      const [code] = await once(child, 'close')
      assert.equal(code, 130)
      assert.match(said, /\n1\. Start Kubernetes [\s\S]*\nInterrupted\.\nEverything is removed\.\n$/)
      assert.ok(!(await clusterNames()).includes(name))
      assert.deepEqual(await processesOf(clusterFolder(name)), [])
    })
  }

  it('says how it is used', async () => {
    const child = spawn(process.execPath, [script, 'nonsense'], { stdio: ['ignore', 'inherit', 'pipe'] })
    const said = child.stderr.setEncoding('utf8').toArray()
    const [code] = await once(child, 'exit')
    assert.equal(code, 2)
    assert.match((await said).join(''), /^usage: npm run quickstart/)
  })
})
