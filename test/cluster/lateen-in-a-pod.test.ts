import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { bundleLateen } from '../../tools/bundle/bundle.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { lateenImage, lateenImageName } from '../../tools/image/lateen-image.ts'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/lateen.js')
const given = await givenCluster({ node: true, s3: true })

describe('the Lateen image in a pod', { skip: given.skip }, async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-image-'))
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  after(() => rm(folder, { recursive: true }))

  before(async () => {
    const bundle = await bundleLateen(path.join(folder, 'bundle'))
    await given.cluster.deliverImage(await lateenImage({ bundle }))
  })

  it('becomes a server from what `install --dry-run` prints, and finds its S3 location Available', async () => {
    const { endpoint, region, bucket, accessKeyId, secretAccessKey } = given.cluster.s3
    const secret = path.join(folder, 'credentials')
    const keys = [`aws_access_key_id=${accessKeyId}`, `aws_secret_access_key=${secretAccessKey}`]
    await writeFile(secret, ['[default]', ...keys, ''].join('\n'))
    const manifests = await runCommand(process.execPath, [
      launcher,
      'install',
      '--dry-run',
      '-o',
      'yaml',
      '--image',
      lateenImageName,
      '--provider',
      'aws',
      '--bucket',
      bucket,
      '--secret-file',
      secret,
      '--use-volume-snapshots=false',
      '--backup-location-config',
      `s3Url=${endpoint},region=${region},s3ForcePathStyle=true`,
    ])
    // Twice: objects of a kind can only be accepted once its definition is served.
    await kubectl(['apply', '--server-side', '-f', '-'], { stdin: manifests }).catch(() => {})
    await kubectl(['apply', '--server-side', '-f', '-'], { stdin: manifests })
    await kubectl(['-n', 'velero', 'rollout', 'status', 'deployment/velero', '--timeout=120s'])
    const available = '--for=jsonpath={.status.phase}=Available'
    await kubectl([
      '-n',
      'velero',
      'wait',
      available,
      'backupstoragelocation/default',
      '--timeout=60s',
    ]).catch(async error => {
      throw new Error(await kubectl(['-n', 'velero', 'logs', 'deployment/velero']), { cause: error })
    })
  })

  it('hands out files that only the pod can reach, through the API server', async () => {
    const args = [
      {
        op: 'add',
        path: '/spec/template/spec/containers/0/args/-',
        value: '--download-url-base=http://pod.invalid',
      },
    ]
    const patch = ['patch', 'deployment/velero', '--type=json', '-p', JSON.stringify(args)]
    await kubectl(['-n', 'velero', ...patch])
    await kubectl(['-n', 'velero', 'rollout', 'status', 'deployment/velero', '--timeout=120s'])
    const env = { ...process.env, KUBECONFIG: given.cluster.kubeconfigPath, HOME: folder }
    const lateen = (...words: string[]) => runCommand(process.execPath, [launcher, ...words], { env })
    const config = '--config=path=/scratch,createBucket=true'
    await lateen('backup-location', 'create', 'folder', '--provider=filesystem', '--bucket=bucket', config)
    const available = ['wait', '--for=jsonpath={.status.phase}=Available', 'backupstoragelocation/folder']
    await kubectl(['-n', 'velero', ...available, '--timeout=60s'])
    await lateen(
      'backup',
      'create',
      'inside',
      '--include-namespaces=default',
      '--storage-location=folder',
      '-w',
    )
    assert.match(await lateen('backup', 'logs', 'inside'), /backup=velero\/inside/)
    assert.match(
      await lateen('backup', 'describe', 'inside', '--details'),
      /\n {2}v1\/Namespace:\n {4}- default\n/,
    )
  })

  it('says its version from inside', async () => {
    const said = await kubectl(['-n', 'velero', 'exec', 'deployment/velero', '--', '/velero', 'version'])
    assert.match(said, /Client:\n\tVersion: v.+\n[\s\S]*Server:\n\tVersion: v/)
  })
})
