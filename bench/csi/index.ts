import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import { startCluster } from '../../tools/cluster/cluster.ts'
import type { BenchContext } from '../run.ts'
import { benchMoves } from './bench-moves.ts'
import { benchSnapshots } from './bench-snapshots.ts'

/**
 * `--ours`: without Velero and kopia. `--no-snapshots`, `--no-moves`: leave out a part. `--small`: few claims and little data, to try the
 * bench itself.
 */
export const flags = ['--ours', '--no-snapshots', '--no-moves', '--small']

/** CSI snapshots and the movement of their data, by Lateen and by Velero with its CSI actions, on one cluster with one driver. */
export async function bench(context: BenchContext): Promise<void> {
  const [busy = 0] = loadavg()
  const isSmall = context.flags.has('--small')
  context.progress('starting a cluster')
  // Servers that people use let clients keep their connections.
  process.env.VGW_KEEP_ALIVE = 'true'
  await using cluster = await startCluster(`bench-${process.pid}`, { node: true, s3: true, csi: true })
  await using client = await createKubeClient({
    config: await loadKubeConfig({ path: cluster.kubeconfigPath }),
  })
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-bench-csi-'))
  const run = { context, cluster, client, folder, signal: context.signal }
  try {
    if (!context.flags.has('--no-snapshots')) {
      await benchSnapshots({ ...run, claims: isSmall ? 4 : 100, rounds: isSmall ? 1 : 3 })
    }
    if (!context.flags.has('--no-moves')) {
      await benchMoves({ ...run, largeMiB: isSmall ? 2 : 256, rounds: isSmall ? 1 : 2 })
    }
    context.note('time from the creation of the Backup or Restore until it is Completed, as a watch sees it')
    context.note(`the machine's load average was ${busy.toFixed(1)} before`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
