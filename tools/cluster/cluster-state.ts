import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { type ClusterPlan, clusterFolder, clustersFolder, filesOf } from './cluster-layout.ts'
import { isAlive, type ProcessIdentity } from './process-identity.ts'

/** What `cluster.json` says: the plan and who runs it. */
export interface ClusterState extends ClusterPlan {
  supervisor?: ProcessIdentity
  /** Whether all of it has started. */
  ready?: boolean
}

export async function writeState(state: ClusterState): Promise<void> {
  const { state: file } = filesOf(state)
  await writeFile(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`)
  await rename(`${file}.new`, file)
}

/** The state of a cluster, or undefined when there is none (or none that can be read). */
export async function readState(name: string): Promise<ClusterState | undefined> {
  const content = await readFile(filesOf({ folder: clusterFolder(name) }).state, 'utf8').catch(
    () => undefined,
  )
  try {
    return content === undefined ? undefined : (JSON.parse(content) as ClusterState)
  } catch {
    return undefined
  }
}

/** Names of all cluster folders, whether running or left over. */
export async function clusterNames(): Promise<string[]> {
  const entries = await readdir(clustersFolder(), { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory()).map(entry => entry.name)
}

export async function isRunning(state: ClusterState | undefined): Promise<boolean> {
  return state?.supervisor !== undefined && (await isAlive(state.supervisor))
}
