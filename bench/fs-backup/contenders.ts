import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { cachedBundle } from '../../tools/bundle/cached-bundle.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { busyboxImage } from '../../tools/image/busybox-image.ts'
import { lateenImage, lateenImageName } from '../../tools/image/lateen-image.ts'
import { awsPluginImageName, veleroImageName, veleroImages } from '../../tools/velero/velero-images.ts'

/** A program that is installed with its node agent. */
export interface Contender {
  readonly name: 'Lateen' | 'Velero 1.18.3'
  /** Where its objects live. */
  readonly namespace: string
}

export const lateen: Contender = { name: 'Lateen', namespace: 'lateen' }
export const velero: Contender = { name: 'Velero 1.18.3', namespace: 'velero' }

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/lateen.js')

/** Installs both into one cluster, each with a prefix of the bucket for itself; Velero with these flags beyond those that it needs here. */
export async function installBoth(
  cluster: Cluster,
  folder: string,
  veleroFlags: readonly string[] = [],
): Promise<void> {
  const bundle = await cachedBundle()
  const images = [...(await veleroImages()), await lateenImage({ bundle }), await busyboxImage()]
  for (const image of images) await cluster.deliverImage(image)
  const flags = await installFlags(cluster, folder)
  const { env } = process
  const home = { ...env, KUBECONFIG: cluster.kubeconfigPath, HOME: folder }
  const own = ['--plugins', awsPluginImageName, '--image', veleroImageName, '--prefix', 'velero']
  const theirs = [...own, ...veleroFlags]
  await runCommand(await tool('velero'), ['install', '-n', velero.namespace, ...flags, ...theirs], {
    env: home,
  })
  const ours = ['--image', lateenImageName, '--prefix', 'lateen']
  const command = [launcher, 'install', '-n', lateen.namespace, ...flags, ...ours]
  await runCommand(process.execPath, command, { env: home })
  for (const { namespace } of [velero, lateen]) {
    const available = ['wait', '-n', namespace, '--for=jsonpath={.status.phase}=Available', '--timeout=180s']
    await ready(cluster, namespace)
    await cluster.kubectl([...available, 'backupstoragelocation/default'])
  }
}

/** Has the node agents of both move the data of several volumes at a time. */
export async function allowAtOnce(cluster: Cluster, movers: number): Promise<void> {
  const { kubectl } = cluster
  const settings = JSON.stringify({ loadConcurrency: { globalConfig: movers } })
  const flag = {
    op: 'add',
    path: '/spec/template/spec/containers/0/args/-',
    value: `--node-agent-configmap=${map}`,
  }
  for (const { namespace } of [velero, lateen]) {
    await kubectl(['create', 'configmap', map, '-n', namespace, `--from-literal=settings=${settings}`])
    await kubectl([
      'patch',
      'daemonset/node-agent',
      '-n',
      namespace,
      '--type=json',
      '-p',
      JSON.stringify([flag]),
    ])
    await ready(cluster, namespace)
  }
}

const map = 'node-agent-settings'

async function ready({ kubectl }: Cluster, namespace: string): Promise<void> {
  for (const what of ['deployment/velero', 'daemonset/node-agent']) {
    await kubectl(['rollout', 'status', what, '-n', namespace, '--timeout=180s'])
  }
}

async function installFlags({ s3 }: Cluster, folder: string): Promise<string[]> {
  const secret = path.join(folder, 'credentials')
  const keys = [`aws_access_key_id=${s3.accessKeyId}`, `aws_secret_access_key=${s3.secretAccessKey}`]
  await writeFile(secret, ['[default]', ...keys, ''].join('\n'), { mode: 0o600 })
  return [
    ...['--provider=aws', '--bucket', s3.bucket, '--secret-file', secret],
    ...['--use-volume-snapshots=false', '--use-node-agent'],
    ...['--backup-location-config', `s3Url=${s3.endpoint},region=${s3.region},s3ForcePathStyle=true`],
  ]
}
