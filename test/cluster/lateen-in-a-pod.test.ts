import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { allKinds } from '@lateen/api'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { deliverLateen } from '../../tools/image/deliver-lateen.ts'
import { lateenImageName } from '../../tools/image/lateen-image.ts'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/lateen.js')
/** A server that has just taken over waits until the one before is gone. */
const waits = '--timeout=60s'
const given = await givenCluster({ node: true, s3: true, own: true })

describe('the Lateen image in a pod', { skip: given.skip }, async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-image-'))
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  after(() => rm(folder, { recursive: true }))

  before(async () => {
    await deliverLateen(given.cluster)
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
    await untilEstablished(given.cluster, ...allKinds.map(({ plural, group }) => `${plural}.${group}`))
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
    const earlier = (await kubectl(['-n', 'velero', 'get', 'pods', '-o', 'name'])).trim().split('\n')
    await kubectl(['-n', 'velero', ...patch])
    await kubectl(['-n', 'velero', 'rollout', 'status', 'deployment/velero', '--timeout=120s'])
    // It leads until it ends, and would store the backup in its own folder.
    await kubectl(['-n', 'velero', 'wait', '--for=delete', ...earlier, '--timeout=120s'])
    const env = { ...process.env, KUBECONFIG: given.cluster.kubeconfigPath, HOME: folder }
    const lateen = (...words: string[]) => runCommand(process.execPath, [launcher, ...words], { env })
    const config = '--config=path=/tmp,createBucket=true'
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
    const said = await kubectl([
      '-n',
      'velero',
      'exec',
      'deployment/velero',
      '--',
      '/velero',
      'version',
      waits,
    ])
    assert.match(said, /Client:\n\tVersion: v.+\n[\s\S]*Server:\n\tVersion: v/)
  })

  it('goes on as a server with nothing to write to but its volumes, as nobody, and with no rights over the machine', async () => {
    const container = { name: 'velero', securityContext: bare }
    const spec = { securityContext: { runAsNonRoot: true, seccompProfile }, containers: [container] }
    await kubectl([
      '-n',
      'velero',
      'patch',
      'deployment/velero',
      '-p',
      JSON.stringify({ spec: { template: { spec } } }),
    ])
    await kubectl(['-n', 'velero', 'rollout', 'status', 'deployment/velero', '--timeout=120s'])
    const inside = (...words: string[]) =>
      kubectl(['-n', 'velero', 'exec', 'deployment/velero', '--', ...words])
    assert.match(await inside('/lateen', 'version', waits), /Server:\n\tVersion: v/)
    const uid = 'process.stdout.write(String(process.getuid()))'
    assert.equal(await inside('/usr/local/bin/node', '-e', uid), '65532')
    const write = 'require("node:fs").writeFileSync("/opt/lateen/x", "")'
    await assert.rejects(inside('/usr/local/bin/node', '-e', write), /EROFS/)
  })

  it('lets a pod of any user wait for its volumes by the name and the arguments that Velero gives', async () => {
    const restore = '6f1c4a52-0000-4000-8000-1234567890ab'
    const volumeMounts = ['one', 'two'].map(name => ({ name, mountPath: `/restores/${name}` }))
    const mark = `set -e; for v in one two; do mkdir /restores/$v/.velero; touch /restores/$v/.velero/${restore}; done`
    const mover = { image: busyboxImageName, command: ['/bin/sh', '-c', mark] }
    const helper = (command: string) => ({ image: lateenImageName, command: [command], args: [restore] })
    const securityContext = { ...bare, runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true }
    const local = { imagePullPolicy: 'Never', securityContext }
    const steps = {
      mover,
      'by-path': helper('/velero-restore-helper'),
      again: mover,
      'by-name': helper('velero-restore-helper'),
      last: mover,
    }
    const version = { name: 'version', image: lateenImageName, args: ['version', '--client-only'], ...local }
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'restored', namespace: 'velero' },
      spec: {
        restartPolicy: 'Never',
        securityContext: { fsGroup: 1000, seccompProfile },
        initContainers: Object.entries(steps).map(([name, step]) => ({
          name,
          ...step,
          ...local,
          volumeMounts,
        })),
        containers: [version],
        volumes: ['one', 'two'].map(name => ({ name, emptyDir: {} })),
      },
    }
    await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(pod) })
    const inVelero = (...words: string[]) => kubectl(['-n', 'velero', ...words])
    // The second mover could make no folder if the first helper had left it, and neither could the last step if the second one had.
    await inVelero(
      'wait',
      '--for=jsonpath={.status.phase}=Succeeded',
      'pod/restored',
      '--timeout=120s',
    ).catch(async error => {
      throw new Error(await inVelero('get', 'pod', 'restored', '-o', 'yaml'), { cause: error })
    })
    // The kubelet may have removed the logs of init containers by now; what they left tells enough.
    const codes = 'jsonpath={.status.initContainerStatuses[*].state.terminated.exitCode}'
    assert.equal(await inVelero('get', 'pod', 'restored', '-o', codes), '0 0 0 0 0')
    assert.match(await inVelero('logs', 'restored', '-c', 'version'), /Client:\n\tVersion: v/)
  })
})

const seccompProfile = { type: 'RuntimeDefault' }

/** As little as a container can have. */
const bare = {
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
}
