import { access, readdir, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { waitUntil } from './wait-until.ts'

const root = '/sys/fs/cgroup'

/** The control group below which a cluster's pods run, in every hierarchy. */
export function cgroupName(clusterName: string): string {
  return `lateen-${clusterName}`
}

/** The mounted hierarchies: one on cgroup v2, one per controller on v1. */
export async function cgroupHierarchies(): Promise<string[]> {
  if (await exists(path.join(root, 'cgroup.controllers'))) return [root]
  const entries = await readdir(root, { withFileTypes: true })
  return entries.filter(entry => entry.isDirectory()).map(entry => path.join(root, entry.name))
}

/** Removes a cluster's control groups, which by now hold no process. */
export async function removeCgroups(clusterName: string): Promise<void> {
  for (const hierarchy of await cgroupHierarchies()) {
    const folder = path.join(hierarchy, cgroupName(clusterName))
    if (await exists(folder)) await removeTree(folder)
  }
}

/** Control group folders go with rmdir, deepest first; the files in them cannot be unlinked. */
async function removeTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeTree(path.join(folder, entry.name))
  }
  await waitUntil(() => removed(folder), {
    timeoutMs: 60_000,
    failure: () => new Error(`the control group ${folder} is still in use`),
  })
}

/** The kernel lets go of a group some time after the last process in it has ended. */
async function removed(folder: string): Promise<boolean> {
  try {
    await rmdir(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EBUSY') return false
    if (code !== 'ENOENT') throw error
  }
  return true
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
