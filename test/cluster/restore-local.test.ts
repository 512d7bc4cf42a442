import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'
import { configMap, handsOn } from './restore-harness.ts'

const given = await givenCluster()
const shop = `restore-local-${process.pid}`
const user = `${shop}-user`
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-restore-local-'))
after(() => rm(folder, { recursive: true }))

const metadata = (name: string, more: object = {}) => ({ name, namespace: shop, ...more })
const labels = { app: 'shop' }
const container = { name: 'web', image: 'localhost/nothing' }
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: metadata('alone', {
    annotations: {
      'init.hook.restore.velero.io/container-image': 'localhost/first',
      'init.hook.restore.velero.io/command': '["/bin/true"]',
    },
  }),
  spec: { containers: [container] },
}
const objects = [
  configMap(metadata('settings'), { color: 'blue' }),
  { apiVersion: 'v1', kind: 'Secret', metadata: metadata('key'), stringData: { key: 'hidden' } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata('web'),
    spec: { selector: labels, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata('web'),
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadata('closed'),
    spec: { podSelector: {}, policyTypes: ['Ingress'] },
  },
  pod,
]

/** Everything that the restore needs, and nothing of velero.io. */
const rights = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: user },
  rules: [
    { apiGroups: ['', 'apps', 'discovery.k8s.io', 'apiextensions.k8s.io'], resources: ['*'], verbs: ['*'] },
  ],
}
const binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: user },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
}

function failed({ status, stdout, stderr }: Ended, message: RegExp): void {
  assert.match(stderr, message, stdout)
  assert.match(stderr, /^An error occurred: [^\n]+\n$/)
  assert.equal(status, 1)
}

describe('lateen restore create --local', { skip: given.skip, concurrency: false }, () => {
  const bucket = path.join(folder, 'bucket')
  const namespaces = [shop, `${shop}-copy`, `${shop}-partly`, `${shop}-late`]
  const { get, create, createForPods } = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })
  let lateen: Lateen

  before(async () => {
    const admin = await lateenFor(given.cluster.kubeconfigPath)
    await createForPods({ name: shop, labels })
    await create(...objects, rights, binding)
    const taken = await admin(['backup', 'create', 'shop', '--include-namespaces', shop, '--local', bucket])
    assert.match(taken.stdout, /status: Completed/)
    lateen = await lateenFor(await given.cluster.kubeconfigFor(user))
  })
  after(async () => {
    const { kubectl } = given.cluster
    await kubectl(['delete', 'namespace', ...namespaces, '--ignore-not-found', '--wait=false'])
    await kubectl(['delete', 'clusterrole,clusterrolebinding', user])
  })

  const restore = (name: string, ...flags: string[]) =>
    lateen(['restore', 'create', name, '--from-backup=shop', '--local', bucket, ...flags])
  /** Without what the user may not restore. */
  const allowed = ['--exclude-resources', 'networkpolicies.networking.k8s.io']
  /** A copy of the bucket, to be damaged. */
  const copy = async (name: string) => {
    const target = path.join(folder, name)
    await cp(bucket, target, { recursive: true })
    return target
  }

  it('brings a namespace back with nothing but rights to its objects, and leaves log and results in the folder', async () => {
    await given.cluster.kubectl(['delete', 'namespace', shop])
    const made = await restore('again', ...allowed)
    assert.match(made.stdout, /^Making restore "again" from \S+\. Data of volumes are not restored/)
    assert.match(
      made.stdout,
      /\nRestore of backup "shop" completed with status: Completed: \d+ items, 0 warnings, 0 errors\.\n/,
    )
    assert.match(made.stdout, /\nIts log and results are in \S+\/restores\/again\/\.\n$/)
    assert.deepEqual([made.stderr, made.status], ['', 0])
    const settings = await get('configmap', 'settings', shop)
    assert.deepEqual(settings.data, { color: 'blue' })
    assert.equal(settings.metadata.labels?.['velero.io/restore-name'], 'again')
    assert.equal((await get('namespace', shop)).metadata.labels?.app, 'shop')
    for (const each of ['deployment', 'service']) await get(each, 'web', shop)
    const files = path.join(bucket, 'restores/again')
    assert.deepEqual((await readdir(files)).sort(), [
      'again-volumeinfo.json.gz',
      'restore-again-itemoperations.json.gz',
      'restore-again-logs.gz',
      'restore-again-resource-list.json.gz',
      'restore-again-results.gz',
    ])
    assert.match(
      gunzipSync(await readFile(path.join(files, 'restore-again-logs.gz'))).toString(),
      /restore=velero\/again/,
    )
  })

  it('runs init hooks', async () => {
    const { spec } = await get('pod', 'alone', shop)
    const [first] = (spec as { initContainers: object[] }).initContainers
    assert.partialDeepStrictEqual(first, { image: 'localhost/first', command: ['/bin/true'] })
  })

  it('obeys the flags of restores', async () => {
    const mapped = `${shop}-copy`
    const made = await restore(
      ...['copy', '--namespace-mappings', `${shop}:${mapped}`, '--include-resources=configmaps,secrets'],
      ...['--labels=a=b', '--existing-resource-policy=update', '--wait'],
    )
    assert.match(made.stdout, /status: Completed/)
    assert.deepEqual((await get('secret', 'key', mapped)).data, {
      key: Buffer.from('hidden').toString('base64'),
    })
    assert.equal(
      (await given.cluster.kubectl(['get', 'services,deployments', '-o', 'name', '-n', mapped])).trim(),
      '',
    )
  })

  it('tells what differs from what is there, and what could not be restored with the reason, and exits with 1', async () => {
    const mapped = `${shop}-partly`
    await create(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: mapped } },
      configMap({ name: 'settings', namespace: mapped }, { color: 'red' }),
    )
    const made = await restore('partly', '--namespace-mappings', `${shop}:${mapped}`)
    assert.match(
      made.stdout,
      /completed with status: PartiallyFailed: \d+ items, [1-9]\d* warnings, 1 errors\.\n/,
    )
    assert.match(
      made.stdout,
      /\nWarnings:\n[\s\S]*settings[\s\S]*\nErrors:\n[\s\S]*networkpolicies[^\n]*forbidden/,
    )
    assert.deepEqual([made.stderr, made.status], ['', 1])
    assert.deepEqual((await get('configmap', 'settings', mapped)).data, { color: 'red' })
  })

  it('takes the newest backup of a schedule, a partly failed one only if that will do', async () => {
    const target = await copy('scheduled')
    const add = async (name: string, phase: string, startTimestamp: string) => {
      const from = path.join(target, 'backups/shop')
      const to = path.join(target, `backups/${name}`)
      const backup = JSON.parse(await readFile(path.join(from, 'velero-backup.json'), 'utf8'))
      backup.metadata = { ...backup.metadata, name, labels: { 'velero.io/schedule-name': 'daily' } }
      backup.status = { ...backup.status, phase, startTimestamp }
      await mkdir(to)
      await cp(path.join(from, 'shop.tar.gz'), path.join(to, `${name}.tar.gz`))
      await writeFile(path.join(to, 'velero-backup.json'), JSON.stringify(backup))
    }
    await add('daily-1', 'Completed', '2026-01-01T00:00:00Z')
    await add('daily-2', 'Completed', '2026-01-02T00:00:00Z')
    await add('daily-3', 'PartiallyFailed', '2026-01-03T00:00:00Z')
    const make = (name: string, ...flags: string[]) =>
      lateen([
        ...['restore', 'create', name, '--from-schedule=daily', '--local', target, ...flags],
        ...['--include-resources=configmaps', '--namespace-mappings', `${shop}:${shop}-late`],
      ])
    assert.match((await make('first')).stdout, /Restore of backup "daily-2" completed with status: Completed/)
    assert.match(
      (await make('second', '--allow-partially-failed')).stdout,
      /Restore of backup "daily-3" completed/,
    )
    failed(
      await lateen(['restore', 'create', '--from-schedule=weekly', '--local', target]),
      /is not valid: No backups found for schedule; /,
    )
  })

  it('shows with -o what it would do, and needs neither cluster nor folder for it', async () => {
    const shown = await lateen(
      ['restore', 'create', 'shown', '--from-backup=none', '--local', '/no/such', '-o', 'json'],
      { env: { KUBECONFIG: '/no/such' } },
    )
    assert.equal(JSON.parse(shown.stdout).spec.backupName, 'none', shown.stderr)
  })

  it('refuses what is not there', async () => {
    const from = (backup: string, place: string) =>
      lateen(['restore', 'create', 'x', '--from-backup', backup, '--local', place])
    failed(
      await from('shop', path.join(folder, 'none')),
      /there is no folder \S+\/none \(name the folder that holds/,
    )
    failed(await from('shop', path.join(bucket, 'backups/shop/velero-backup.json')), /is not a folder/)
    failed(await from('other', bucket), /there is no backup other in \S+ \(it has shop\)/)
    failed(
      await from('shop', path.join(bucket, 'backups/shop')),
      /that of a single backup: name \S+\/bucket, which/,
    )
    failed(await from('shop', path.join(bucket, 'restores')), /it has no backups: they would be in/)
    failed(await restore('again'), /\/restores\/again\/ is there already \(choose another name/)
    failed(await restore('x', '--include-resources=nodes'), /nodes are non-restorable resources/)
  })

  it('refuses backups that are unfinished', async () => {
    const target = await copy('unfinished')
    const file = path.join(target, 'backups/shop/velero-backup.json')
    const make = () => lateen(['restore', 'create', 'x', '--from-backup=shop', '--local', target])
    const backup = JSON.parse(await readFile(file, 'utf8'))
    backup.status.phase = 'InProgress'
    await writeFile(file, JSON.stringify(backup))
    failed(await make(), /The backup shop is in the phase InProgress/)
    await writeFile(file, '{"kind"')
    failed(await make(), /the object backups\/shop\/velero-backup.json is not JSON/)
    await rm(file)
    failed(await make(), /the backup shop in \S+ is not complete: \S+velero-backup.json is not there/)
  })

  it('fails on archives that are damaged or gone, and restores nothing of them', async () => {
    const target = await copy('damaged')
    const archive = path.join(target, 'backups/shop/shop.tar.gz')
    const make = (name: string) =>
      lateen([
        ...['restore', 'create', name, '--from-backup=shop', '--local', target],
        ...['--namespace-mappings', `${shop}:${shop}-never`],
      ])
    await truncate(archive, 500)
    const cut = await make('cut')
    assert.match(
      cut.stdout,
      /status: Failed: 0 items, [\s\S]*\nIt failed because the archive of the backup cannot be read: /,
    )
    assert.equal(cut.status, 1)
    await rm(archive)
    assert.match((await make('gone')).stdout, /It failed because the backup shop has no archive/)
    await assert.rejects(given.cluster.kubectl(['get', 'namespace', `${shop}-never`]))
  })

  it('restores from a folder that cannot be written to, and says that there is no log', async () => {
    const target = await copy('closed')
    await rm(path.join(target, 'restores'), { recursive: true })
    // A file in the way stops root, too.
    await writeFile(path.join(target, 'restores'), '')
    const made = await lateen([
      ...[
        'restore',
        'create',
        'x',
        '--from-backup=shop',
        '--local',
        target,
        '--include-resources=configmaps',
      ],
    ])
    assert.match(
      made.stdout,
      /status: Completed: [\s\S]*\nIts log and results could not be stored in \S+\/closed\.\n$/,
    )
    assert.equal(made.status, 0)
  })
})
