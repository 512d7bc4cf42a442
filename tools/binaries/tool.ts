import { access, constants } from 'node:fs/promises'
import path from 'node:path'
import { buildGoTool, goToolPath } from './build-go-tool.ts'
import { cacheFolder } from './cache-folder.ts'
import {
  catalogue,
  type DebianTool,
  type GoTool,
  type Tool,
  type ToolName,
  type UnpackedTool,
} from './catalogue.ts'
import { installDebianPackages } from './install-debian-package.ts'
import { withMachineLock } from './machine-lock.ts'
import { unpackDebianPackage, unpackedFolder } from './unpack-debian-package.ts'

/**
 * The path of a program: from `PATH`, `KUBEBUILDER_ASSETS` or the cache, else built or installed now, once, with
 * progress on the terminal. Throws a ToolError when it cannot be had here.
 */
export async function tool(name: ToolName): Promise<string> {
  const paths = await tools([name])
  return paths[name]
}

/** Like `tool`, for several at once; Debian packages come in one installation. */
export async function tools<N extends ToolName>(names: readonly N[]): Promise<Record<N, string>> {
  const found = await lookUp(names)
  if (found.missing.length === 0) return found.paths
  return withMachineLock(path.join(cacheFolder(), 'build.lock'), async () => {
    const missing = (await lookUp(found.missing)).missing
    await installMissing(missing)
    await buildMissing(missing)
    return (await lookUp(names)).paths
  })
}

/** Where a program would come from, without bringing it. */
export async function findTool(name: ToolName): Promise<string | undefined> {
  return (await lookUp([name])).paths[name]
}

async function lookUp<N extends ToolName>(names: readonly N[]) {
  const paths = {} as Record<N, string>
  const missing: N[] = []
  for (const name of names) {
    const found = await firstExecutable(await candidates(name, catalogue[name]))
    if (found) paths[name] = found
    else missing.push(name)
  }
  return { paths, missing }
}

async function candidates(name: ToolName, entry: Tool): Promise<string[]> {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), process.env.KUBEBUILDER_ASSETS ?? '']
  const installed = folders.filter(folder => folder !== '').map(folder => path.join(folder, name))
  return [...installed, await ownPath(name, entry)]
}

async function ownPath(name: ToolName, entry: Tool): Promise<string> {
  switch (entry.from) {
    case 'go':
      return goToolPath(name, entry)
    case 'debian':
      return entry.path
    case 'debian-unpacked':
      return path.join(unpackedFolder(entry.package), entry.path)
  }
}

async function firstExecutable(paths: readonly string[]): Promise<string | undefined> {
  for (const candidate of paths) {
    const executable = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (executable) return candidate
  }
  return undefined
}

async function installMissing(names: readonly ToolName[]): Promise<void> {
  const entries: Tool[] = names.map(name => catalogue[name])
  const packages = entries
    .filter((entry): entry is DebianTool => entry.from === 'debian')
    .map(entry => entry.package)
  if (packages.length > 0) await installDebianPackages([...new Set(packages)])
  const unpacked = entries.filter((entry): entry is UnpackedTool => entry.from === 'debian-unpacked')
  for (const name of new Set(unpacked.map(entry => entry.package))) await unpackDebianPackage(name)
}

async function buildMissing(names: readonly ToolName[]): Promise<void> {
  for (const name of names) {
    const entry: Tool = catalogue[name]
    if (entry.from === 'go') await buildOne(name, entry)
  }
}

async function buildOne(name: string, entry: GoTool): Promise<void> {
  await buildGoTool(name, entry, await goToolPath(name, entry))
}
