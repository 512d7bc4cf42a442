import { access, readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import path from 'node:path'
import { runCommand } from '../binaries/run-command.ts'
import { tool } from '../binaries/tool.ts'
import { cgroupHierarchies, cgroupName } from './cgroups.ts'
import { addressesOf, type ClusterPlan, linkName } from './cluster-layout.ts'
import { clusterNames, readState } from './cluster-state.ts'
import { loopDevicesBelow } from './node/loop-devices.ts'
import { processesOf } from './process-identity.ts'

/** Everything on this machine that belongs to a cluster, as text; empty when it is gone without a trace. */
export async function tracesOf(plan: ClusterPlan): Promise<string[]> {
  const processes = await processesOf(plan.folder)
  const mounts = (await readFile('/proc/mounts', 'utf8'))
    .split('\n')
    .filter(line => line.includes(plan.folder))
  const link = Object.keys(networkInterfaces()).filter(name => name === linkName(plan))
  const routes = await runCommand(await tool('ip'), ['route', 'show', addressesOf(plan).podSubnet])
  // Asked after link and routes: whoever has them was noted before they were made.
  const areOthers = await hasSuccessor(plan)
  const devices = plan.csi ? await loopDevicesBelow(plan.folder) : []
  return [
    ...processes.map(pid => `process ${pid}`),
    ...mounts.map(mount => `mount ${mount}`),
    ...devices.map(({ name }) => `loop device ${name}`),
    ...(areOthers ? [] : link.map(name => `link ${name}`)),
    ...(routes.trim() && !areOthers ? [`route ${routes.trim()}`] : []),
    ...(await existing((await cgroupHierarchies()).map(folder => path.join(folder, cgroupName(plan.name))))),
    ...(await existing([plan.folder])),
  ]
}

/** Whether another cluster has the index of this one, and with it the names of its link and its subnets. */
export async function hasSuccessor({ index, folder }: ClusterPlan): Promise<boolean> {
  const states = await Promise.all((await clusterNames()).map(readState))
  return states.some(state => state?.index === index && state.folder !== folder)
}

async function existing(files: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const file of files) {
    await access(file).then(
      () => found.push(`folder ${file}`),
      () => {},
    )
  }
  return found
}
