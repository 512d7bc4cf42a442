import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError, runCommand } from '../binaries/run-command.ts'
import { tool } from '../binaries/tool.ts'
import { removeCgroups } from './cgroups.ts'
import { clusterFolder, linkName } from './cluster-layout.ts'
import { clusterNames, isRunning, readState } from './cluster-state.ts'
import { detachLoopDevicesBelow } from './node/loop-devices.ts'
import { processesOf } from './process-identity.ts'

/** Clears what clusters whose supervisor is gone have left behind. Returns their names. */
export async function sweepStaleClusters(): Promise<string[]> {
  const swept: string[] = []
  for (const name of await clusterNames()) {
    if (await isRunning(await readState(name))) continue
    await sweepCluster(name)
    swept.push(name)
  }
  return swept
}

/**
 * Removes every trace of a cluster: processes first, then loop devices and control groups, then its folder. Mounts, links and
 * addresses of a node live in namespaces that end with its processes; only the link is not waited for by the kernel.
 */
export async function sweepCluster(name: string): Promise<void> {
  const folder = clusterFolder(name)
  const state = await readState(name)
  await killAll(folder)
  if (state?.csi) await detachLoopDevicesBelow(folder)
  if (state?.node) await removeLink(linkName(state))
  await removeCgroups(name)
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

async function removeLink(link: string): Promise<void> {
  await runCommand(await tool('ip'), ['link', 'delete', link]).catch(error => {
    if (!(error instanceof CommandError)) throw error
  })
}

async function killAll(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const pids = (await processesOf(folder)).filter(pid => pid !== process.pid)
    if (pids.length === 0) return
    for (const pid of pids) killQuietly(pid)
    await sleep(100)
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself in the meantime.
  }
}
