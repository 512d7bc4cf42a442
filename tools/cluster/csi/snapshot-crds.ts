import { cp, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { goEnvironment } from '../../binaries/build-go-tool.ts'
import { cacheFolder } from '../../binaries/cache-folder.ts'
import { catalogue } from '../../binaries/catalogue.ts'
import { runCommand } from '../../binaries/run-command.ts'
import { ToolError } from '../../binaries/tool-error.ts'

const { module, version } = catalogue['snapshot-controller']
const goModule = 'github.com/kubernetes-csi/external-snapshotter/client/v8'

/**
 * The files with the definitions of snapshots and of groups of them, of the controller's version. They are taken from its Go module once and kept
 * where programs are. Throws a ToolError when they cannot be had.
 */
export async function snapshotCrds(): Promise<string[]> {
  const folder = path.join(cacheFolder(), `snapshot-crds-${version}`)
  const kept = await filesOfCrds(folder)
  if (kept.length > 0) return kept
  const unfinished = await mkdtemp(`${folder}.`)
  await cp(await crdsOfModule(), unfinished, { recursive: true })
  // Somebody else may have been faster, with the same files.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }))
  return filesOfCrds(folder)
}

async function filesOfCrds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter(name => name.includes('snapshot.storage.k8s.io_')).map(name => path.join(folder, name))
}

async function crdsOfModule(): Promise<string> {
  const cwd = path.join(import.meta.dirname, '../../go', module)
  try {
    const answer = await runCommand('go', ['mod', 'download', '-json', goModule], {
      cwd,
      env: goEnvironment(process.env),
    })
    return path.join(JSON.parse(answer).Dir, 'config/crd')
  } catch (cause) {
    throw new ToolError(
      `the definitions of snapshots cannot be had from ${goModule}: ${(cause as Error).message}`,
      { hint: 'Install Go, and see that its module proxy is reachable', cause },
    )
  }
}
