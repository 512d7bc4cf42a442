import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { withMachineLock } from '../binaries/machine-lock.ts'
import { ClusterError } from './cluster-error.ts'
import {
  type ClusterNeeds,
  type ClusterPlan,
  type ClusterPorts,
  clusterFolder,
  clustersFolder,
  filesOf,
} from './cluster-layout.ts'
import { clusterNames, isRunning, readState, writeState } from './cluster-state.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { sweepStaleClusters } from './sweep.ts'

/**
 * Takes a name, an index and free ports for a new cluster. Clusters left over from a crash are cleared first.
 * Throws CLUSTER_EXISTS when one of that name runs.
 */
export async function planCluster(
  name: string,
  needs: ClusterNeeds & { supervisor: ProcessIdentity },
): Promise<ClusterPlan> {
  if (!/^[a-z0-9][a-z0-9-]{0,30}$/.test(name)) {
    throw new ClusterError('CLUSTER_FAILED', `the cluster name "${name}" is not valid`, {
      hint: 'Use up to 31 lower-case letters, digits and dashes',
    })
  }
  await mkdir(clustersFolder(), { recursive: true, mode: 0o700 })
  return withMachineLock(path.join(clustersFolder(), '.lock'), async () => {
    await sweepStaleClusters()
    if (await isRunning(await readState(name))) {
      throw new ClusterError('CLUSTER_EXISTS', `a cluster named ${name} is already running`, {
        hint: `Use it, choose another --name, or stop it with: npm run cluster -- down --name ${name}`,
      })
    }
    const folder = clusterFolder(name)
    const { supervisor, ...kinds } = needs
    const plan: ClusterPlan = { name, folder, ...kinds, index: await freeIndex(), ports: await freePorts() }
    await mkdir(path.dirname(filesOf(plan).supervisorLog), { recursive: true })
    await writeState({ ...plan, supervisor })
    return plan
  })
}

async function freeIndex(): Promise<number> {
  const states = await Promise.all((await clusterNames()).map(readState))
  const taken = new Set(states.map(state => state?.index))
  for (let index = 1; index < 250; index += 1) if (!taken.has(index)) return index
  throw new ClusterError('CLUSTER_FAILED', 'there are 249 clusters already', {
    hint: 'Stop some with: npm run cluster -- down',
  })
}

/** Ports that nobody listens on now. All are held open until the last is known, so that none comes twice. */
async function freePorts(): Promise<ClusterPorts> {
  const names = ['etcd', 'etcdPeer', 'apiServer', 'controllerManager', 'scheduler', 's3'] as const
  const servers = names.map(() => createServer())
  const ports = await Promise.all(
    servers.map(
      server =>
        new Promise<number>((resolve, reject) => {
          server.once('error', reject)
          server.listen(0, '0.0.0.0', () => resolve((server.address() as { port: number }).port))
        }),
    ),
  )
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return Object.fromEntries(names.map((name, i) => [name, ports[i]])) as unknown as ClusterPorts
}
