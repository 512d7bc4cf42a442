import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { cachedBundle } from '../../tools/bundle/cached-bundle.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { lateenImage } from '../../tools/image/lateen-image.ts'
import { awsPluginImageName, veleroImages } from '../../tools/velero/velero-images.ts'
import { credentialsIn } from '../cluster/backups.ts'

/** Makes the images of Velero, its plugin for S3 and Lateen known to the node. */
export async function deliverBothImages(cluster: Cluster): Promise<void> {
  const images = [...(await veleroImages()), await lateenImage({ bundle: await cachedBundle() })]
  await Promise.all(images.map(image => cluster.deliverImage(image)))
}

/** What an installation is to look like, for both programs. */
export interface InstallationWishes {
  image: string
  /** Below which its backups are in the bucket. */
  prefix: string
  /** A folder of this machine for the credentials file. */
  folder: string
}

/** The words after `install` that both programs understand, for a location in the cluster's S3 server. */
export async function installWords(
  { s3 }: Pick<Cluster, 's3'>,
  { image, prefix, folder }: InstallationWishes,
): Promise<string[]> {
  const secretFile = path.join(folder, 'credentials')
  await writeFile(secretFile, credentialsIn({ s3 }))
  return [
    ...[
      'install',
      '--image',
      image,
      '--plugins',
      awsPluginImageName,
      '--provider=aws',
      '--bucket',
      s3.bucket,
    ],
    ...['--prefix', prefix, '--secret-file', secretFile, '--snapshot-location-config', `region=${s3.region}`],
    ...['--backup-location-config', `s3Url=${s3.endpoint},region=${s3.region},s3ForcePathStyle=true`],
  ]
}

/** Waits until the Deployment's newest pods are all there is. */
export async function serverReplaced(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  namespace = 'velero',
): Promise<void> {
  const rollout = ['rollout', 'status', 'deployment/velero', '-n', namespace, '--timeout=180s']
  await kubectl(rollout).catch(async cause => {
    const pods = JSON.parse(await kubectl(['get', 'pods', '-n', namespace, '-o', 'json']))
    throw new Error(JSON.stringify(pods.items.map(({ status }: { status: object }) => status)), { cause })
  })
  const pods = ['get', 'pods', '-n', namespace, '-l', 'deploy=velero', '-o', 'name']
  let left = ''
  await waitUntil(
    async () => {
      left = await kubectl(pods)
      return left.trim().split('\n').length === 1
    },
    { timeoutMs: 120_000, failure: () => new Error(`several servers stay: ${left}`) },
  )
}

/** A namespace with settings of node agents, which both programs read: so many volumes are moved at once. */
export function agentSettings(namespace: string, atOnce: number): object {
  const settings = JSON.stringify({ loadConcurrency: { globalConfig: atOnce } })
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'agents', namespace }, data: { settings } },
    ],
  }
}
