import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Cluster } from '../cluster/cluster.ts'
import { deliverLateen } from '../image/deliver-lateen.ts'
import { runLateen } from './run-lateen.ts'

export interface InstallLateenOptions {
  /** Hears what happens. */
  tell(line: string): void
  signal?: AbortSignal | undefined
}

/**
 * Installs this checkout, node agent included, into a cluster that has a node and an S3 server: makes the image, installs from it as a user would, and waits
 * until the default location is Available. Throws what the command says when it fails, and the signal's reason.
 */
export async function installLateen(cluster: Cluster, options: InstallLateenOptions): Promise<void> {
  const { s3, kubeconfigPath: kubeconfig, kubectl } = cluster
  const lateen = (...args: string[]) => runLateen(args, { ...options, kubeconfig })
  const image = await deliverLateen(cluster, options.signal)
  options.tell(`The node has the image ${image}`)
  // In the cluster's folder, which goes with it whatever happens.
  const credentials = path.join(cluster.plan.folder, 'bucket-credentials')
  const keys = [`aws_access_key_id=${s3.accessKeyId}`, `aws_secret_access_key=${s3.secretAccessKey}`]
  await writeFile(credentials, ['[default]', ...keys, ''].join('\n'), { mode: 0o600 })
  await lateen(
    ...['install', '--wait', `--image=${image}`, '--provider=aws', `--bucket=${s3.bucket}`],
    ...[`--secret-file=${credentials}`, '--use-volume-snapshots=false', '--use-node-agent'],
    `--backup-location-config=region=${s3.region},s3ForcePathStyle=true,s3Url=${s3.endpoint}`,
  )
  const available = '--for=jsonpath={.status.phase}=Available'
  await kubectl(['-n', 'velero', 'wait', available, 'backupstoragelocation/default', '--timeout=120s'])
  await lateen('backup-location', 'get')
}
