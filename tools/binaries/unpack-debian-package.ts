import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { cacheFolder } from './cache-folder.ts'
import { startProgress } from './progress.ts'
import { runCommand } from './run-command.ts'
import { ToolError } from './tool-error.ts'

/** Where the files of an unpacked Debian package are, in the package's own folders. */
export function unpackedFolder(packageName: string): string {
  return path.join(cacheFolder(), 'debian', packageName)
}

/** Downloads a Debian package and unpacks it into the cache; nothing of it is installed or started. Throws ToolError. */
export async function unpackDebianPackage(packageName: string): Promise<void> {
  const progress = startProgress(`unpacking ${packageName}`)
  const parent = path.dirname(unpackedFolder(packageName))
  await mkdir(parent, { recursive: true })
  const work = await mkdtemp(path.join(parent, '.new-'))
  try {
    await download(packageName, work)
    const archive = (await readdir(work)).find(name => name.endsWith('.deb')) ?? ''
    await runCommand('dpkg-deb', ['-x', path.join(work, archive), path.join(work, 'files')])
    await rm(unpackedFolder(packageName), { recursive: true, force: true })
    await rename(path.join(work, 'files'), unpackedFolder(packageName))
    progress.end('done')
  } catch (cause) {
    progress.end('failed')
    throw new ToolError(`unpacking ${packageName} failed: ${(cause as Error).message}`, {
      hint: 'Put the program on the PATH; only Debian and its relatives have it as a package',
      cause,
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** The list of packages may be too old to name a file that still exists; only root can renew it. */
async function download(packageName: string, folder: string): Promise<void> {
  const get = () => runCommand('apt-get', ['-qq', 'download', packageName], { cwd: folder })
  if (process.getuid?.() !== 0) {
    await get()
    return
  }
  await get().catch(async () => {
    await runCommand('apt-get', ['-qq', 'update'])
    await get()
  })
}
