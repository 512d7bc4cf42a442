import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { cachedBundle } from '../../tools/bundle/cached-bundle.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { busyboxImage, busyboxImageName } from '../../tools/image/busybox-image.ts'
import { lateenImage, lateenImageName } from '../../tools/image/lateen-image.ts'
import { BackupBucket } from './backup-bucket.ts'
import { type Lateen, lateenFor } from './cli-runner.ts'
import { backTo, interruptedAt, outcomes, s3Flags, settledObjects } from './install-scene.ts'

const given = await givenCluster({ node: true, s3: true, own: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

/** A pod whose backup takes as long as its hook does. */
const slowPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'slow',
    namespace: 'slow',
    annotations: {
      'pre.hook.backup.velero.io/command': '["/bin/sleep","120"]',
      'pre.hook.backup.velero.io/timeout': '5m',
    },
  },
  spec: {
    containers: [{ name: 'main', image: busyboxImageName, imagePullPolicy: 'Never' }],
    terminationGracePeriodSeconds: 1,
  },
}

const disk = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'disk', namespace: 'velero' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'local-path',
  },
}

describe('lateen install on a node', { skip: given.skip, concurrency: false }, async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-install-'))
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const bucket = given.skip ? undefined : new BackupBucket(given.cluster, 'install')
  const env = { KUBECONFIG: given.skip ? '' : given.cluster.kubeconfigPath, HOME: folder }
  let flags: string[] = []
  let clean: Set<string>
  after(() => rm(folder, { recursive: true }))
  after(() => bucket?.[Symbol.dispose]())

  async function succeed(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await lateen(args)
    assert.equal(status, 0, `${args.join(' ')}: ${stderr}${stdout}`)
    return stdout
  }

  before(async () => {
    await given.cluster.deliverImage(await lateenImage({ bundle: await cachedBundle() }))
    await given.cluster.deliverImage(await busyboxImage())
    flags = [...(await s3Flags(given.cluster, folder, 'install')), `--image=${lateenImageName}`]
    await kubectl(['create', 'namespace', 'shop'])
    await kubectl(['-n', 'shop', 'create', 'configmap', 'stock', '--from-literal=apples=7'])
    clean = await settledObjects(given.cluster)
  })

  it('returns when the server serves, confined as it is', async () => {
    const said = await succeed('install', ...flags, '--wait')
    assert.equal(outcomes(said).get('Deployment/velero'), 'created')
    assert.match(said, /^Deployment\/velero: ready$/m)
    const ready = await kubectl(['-n', 'velero', 'get', 'deployment/velero', '-ojsonpath={.status}'])
    assert.equal(JSON.parse(ready).availableReplicas, 1)
    const exec = ['-n', 'velero', 'exec', 'deployment/velero', '-c', 'velero', '--']
    const node = [...exec, '/usr/local/bin/node', '-p']
    assert.equal(await kubectl([...node, 'process.getuid()']), '65532\n')
    const status = await kubectl([...node, "require('fs').readFileSync('/proc/self/status', 'utf8')"])
    assert.match(status, /^CapEff:\t0+$/m)
    assert.match(status, /^NoNewPrivs:\t1$/m)
    assert.match(status, /^Seccomp:\t2$/m)
    await assert.rejects(kubectl([...node, "require('fs').writeFileSync('/x', '')"]), /EROFS/)
    await kubectl([
      ...node,
      "require('fs').writeFileSync(require('os').tmpdir() + '/x', require('os').homedir())",
    ])
  })

  it('takes a backup and restores it', async () => {
    await succeed('backup', 'create', 'first', '--include-namespaces=shop', '--wait')
    const phase = '-ojsonpath={.status.phase}'
    assert.equal(await kubectl(['-n', 'velero', 'get', 'backup/first', phase]), 'Completed')
    await kubectl(['delete', 'namespace', 'shop'])
    await succeed('restore', 'create', 'again', '--from-backup=first', '--wait')
    assert.equal(await kubectl(['-n', 'velero', 'get', 'restore/again', phase]), 'Completed')
    assert.equal(await kubectl(['-n', 'shop', 'get', 'configmap/stock', '-ojsonpath={.data.apples}']), '7')
  })

  it('changes nothing when it is repeated', async () => {
    const again = outcomes(await succeed('install', ...flags, '--wait'))
    assert.ok(again.has('Deployment/velero') && again.has('Secret/cloud-credentials'))
    assert.deepEqual(new Set(again.values()), new Set(['unchanged']))
  })

  it('tells that the image is missing while it waits and when it gives up, and the old server goes on', async () => {
    const install = ['install', ...flags, '--image=localhost/absent:1', '--wait']
    const reason = /^Deployment\/velero: pod velero-\S+: (ErrImagePull|ImagePullBackOff): .*absent/
    const told = await interruptedAt(reason, [...install, '--wait-timeout=2m'], env)
    assert.equal(told.status, 130, told.lines.join('\n'))
    const failed = await lateen([...install, '--wait-timeout=1s'])
    assert.equal(failed.status, 1)
    assert.match(
      failed.stderr,
      /^An error occurred: Deployment velero\/velero is not ready in time: .*absent.*--image.*run the command again\)\n$/,
    )
    const available = ['get', 'deployment/velero', '-ojsonpath={.status.availableReplicas}']
    assert.equal(await kubectl(['-n', 'velero', ...available]), '1')
  })

  it('tells what a server says that does not start', async () => {
    const account = ['create', 'serviceaccount', 'powerless']
    await kubectl(['-n', 'velero', ...account])
    const install = ['install', ...flags, '--service-account-name=powerless', '--wait', '--wait-timeout=2m']
    const reason = /container velero ended with exit code 1, after saying: .*(forbidden|cannot|may not)/
    const told = await interruptedAt(reason, install, env)
    assert.equal(told.status, 130, told.lines.join('\n'))
  })

  it('refuses to uninstall while a backup runs, which the old server has taken up, and names it', async () => {
    await ensureNamespace(given.cluster, 'slow')
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(slowPod) })
    await kubectl(['-n', 'slow', 'wait', '--for=condition=Ready', 'pod/slow', '--timeout=180s'])
    await succeed('backup', 'create', 'running', '--include-namespaces=slow')
    const phase = ['-n', 'velero', 'get', 'backup/running', '-ojsonpath={.status.phase}']
    await waitUntil(async () => (await kubectl(phase)) === 'InProgress', {
      timeoutMs: 110_000,
      failure: () => new Error('the backup does not start'),
    })
    const refused = await lateen(['uninstall'], { stdin: 'y\n' })
    assert.equal(refused.status, 1)
    assert.match(refused.stderr, /work is under way: backup running \(InProgress\) \(.*--force.*\)\n$/)
    await kubectl(['-n', 'velero', 'get', 'deployment/velero', 'backup/first'])
  })

  it('leaves nothing in the cluster, and everything in the bucket', async () => {
    const stored = await bucket?.contents()
    assert.ok([...(stored?.keys() ?? [])].some(key => key.startsWith('restores/again/')))
    await succeed('uninstall', '--force')
    await kubectl(['delete', 'namespace', 'slow'])
    await backTo(clean, given.cluster)
    const left = await bucket?.contents()
    const lost = [...(stored ?? [])].filter(([key, digest]) => left?.get(key) !== digest)
    assert.deepEqual(lost, [])
  })

  it('has nothing to do the second time', async () => {
    assert.match(await succeed('uninstall', '--force'), /^Namespace\/velero: is not there$/m)
  })

  it('keeps backups in a claim, and hands out their files from the replica that leads', async () => {
    await kubectl(['create', 'namespace', 'velero'])
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(disk) })
    const folders = ['--provider=filesystem', '--bucket=backups', '--no-secret', '--filesystem-pvc=disk']
    await succeed('install', ...folders, `--image=${lateenImageName}`, '--replicas=2', '--wait')
    const available = ['--for=jsonpath={.status.phase}=Available', 'backupstoragelocation/default']
    await kubectl(['-n', 'velero', 'wait', ...available, '--timeout=180s'])
    await succeed('backup', 'create', 'kept', '--include-namespaces=shop', '--wait')
    assert.match(await succeed('backup', 'logs', 'kept'), /backup=velero\/kept/)
    assert.match(await succeed('backup', 'describe', 'kept', '--details'), /shop\/stock/)
  })
})
