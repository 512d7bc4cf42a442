import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { withMachineLock } from '../binaries/machine-lock.ts'
import { ClusterError } from './cluster-error.ts'
import {
  type ClusterNeeds,
  type ClusterPlan,
  clusterFolder,
  clustersFolder,
  filesOf,
  portsOf,
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
    const index = await freeIndex()
    const plan: ClusterPlan = { name, folder, ...kinds, index, ports: portsOf(index) }
    await mkdir(path.dirname(filesOf(plan).supervisorLog), { recursive: true })
    await writeState({ ...plan, supervisor })
    return plan
  })
}

/** The lowest index that no cluster has and whose ports nobody listens on. */
async function freeIndex(): Promise<number> {
  const states = await Promise.all((await clusterNames()).map(readState))
  const taken = new Set(states.map(state => state?.index))
  for (let index = 1; index < 250; index += 1) {
    if (!taken.has(index) && (await areFree(Object.values(portsOf(index))))) return index
  }
  throw new ClusterError('CLUSTER_FAILED', 'no room is left for another cluster', {
    hint: 'Stop some with: npm run cluster -- down',
  })
}

async function areFree(ports: readonly number[]): Promise<boolean> {
  const free = await Promise.all(ports.map(isFree))
  return free.every(Boolean)
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)))
  })
}
