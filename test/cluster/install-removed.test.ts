import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type Lateen, lateenFor } from './cli-runner.ts'
import { backTo, settledObjects } from './install-scene.ts'

const given = await givenCluster({ own: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

const install = ['install', '--provider=aws', '--bucket=b', '--no-secret']

describe('lateen uninstall', { skip: given.skip, concurrency: false }, () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  let clean: Set<string>
  before(async () => {
    clean = await settledObjects(given.cluster)
  })

  const apply = (object: object) => kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) })

  async function succeed(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await lateen(args)
    assert.equal(status, 0, stderr)
    return stdout
  }

  it('asks, and does nothing without a yes', async () => {
    await succeed(...install)
    const declined = await lateen(['uninstall'], { stdin: 'n\n' })
    assert.equal(declined.status, 0)
    const unanswered = await lateen(['uninstall'], { stdin: '' })
    assert.equal(unanswered.status, 1)
    assert.match(unanswered.stderr, /nothing was done.*add --force/)
    await kubectl(['-n', 'velero', 'get', 'deployment/velero'])
  })

  it('keeps its hands off a namespace without an installation', async () => {
    await kubectl(['create', 'namespace', 'precious'])
    const refused = await lateen(['uninstall', '--force', '--namespace=precious'])
    assert.equal(refused.status, 1)
    assert.match(refused.stderr, /namespace precious holds no installation/)
    await kubectl(['delete', 'namespace', 'precious'])
  })

  it('takes finalizers off that no server is left for, and keeps definitions that another installation needs', async () => {
    await succeed(...install, '--namespace=second')
    for (const object of withFinalizers('second')) await apply(object)
    assert.match(
      await succeed('uninstall', '--force', '--namespace=second'),
      /^The CustomResourceDefinitions stay, .* namespace velero\.$/m,
    )
    await kubectl(['-n', 'velero', 'get', 'backupstoragelocation/default'])
    await assert.rejects(kubectl(['get', 'clusterrolebinding/velero-second']), /not found/)
  })

  it('keeps a claim that may hold backups, and removes all else', async () => {
    const disk = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'disk', namespace: 'velero' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }
    await apply(disk)
    const folders = ['--provider=filesystem', '--bucket=b', '--no-secret', '--filesystem-pvc=disk']
    await succeed('install', ...folders)
    const said = await succeed('uninstall', '--force', '--wait')
    assert.match(said, /^Warning: --wait is deprecated/)
    assert.match(said, /^Namespace velero stays, because it holds PersistentVolumeClaim\/disk/m)
    const kept = ['Namespace//velero', 'PersistentVolumeClaim/velero/disk']
    const ofEach = ['ServiceAccount/velero/default', 'ConfigMap/velero/kube-root-ca.crt']
    await backTo(new Set([...clean, ...kept, ...ofEach]), given.cluster)
    await kubectl(['delete', 'namespace', 'velero'])
    await backTo(clean, given.cluster)
  })
})

/** Objects that stay until a server or node agent has cleaned up behind them. */
function withFinalizers(namespace: string): object[] {
  const metadata = (name: string, finalizer: string) => ({ name, namespace, finalizers: [finalizer] })
  const v1 = 'velero.io/v1'
  const v2 = 'velero.io/v2alpha1'
  return [
    {
      apiVersion: v1,
      kind: 'Restore',
      metadata: metadata('r', 'restores.velero.io/external-resources-finalizer'),
      spec: { backupName: 'b' },
    },
    {
      apiVersion: v1,
      kind: 'PodVolumeBackup',
      metadata: metadata('p', 'velero.io/pod-volume-finalizer'),
      spec: {
        backupStorageLocation: 'default',
        node: 'n',
        pod: { name: 'p', namespace: 'n' },
        repoIdentifier: 'r',
        volume: 'v',
      },
    },
    {
      apiVersion: v2,
      kind: 'DataUpload',
      metadata: metadata('u', 'velero.io/data-upload-download-finalizer'),
      spec: {
        backupStorageLocation: 'default',
        operationTimeout: '1h',
        snapshotType: 'CSI',
        sourceNamespace: 'n',
        sourcePVC: 'c',
      },
    },
  ]
}
