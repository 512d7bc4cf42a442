import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** A workspace package as its manifest describes it. */
export interface WorkspacePackage {
  name: string
  folder: string
  /** Public name (`@lateen/repo/s3`) to file, both as an importer and a reader of the tree would write them. */
  entries: Map<string, string>
  dependencies: Set<string>
}

/** The sources of the workspace by path, relative to its root with forward slashes. */
export interface SourceTree {
  files: Map<string, string>
  packages: WorkspacePackage[]
}

interface Manifest {
  name: string
  exports?: Record<string, string | Record<string, string>>
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

const sourceFile = /\.[cm]?[jt]sx?$/
const notSource = new Set(['node_modules', 'dist', '.git'])

/** Reads the sources of all packages and of `tools`, `test` and `bench`. Throws when a package has no manifest. */
export async function readSourceTree(root: string): Promise<SourceTree> {
  const files = new Map<string, string>()
  for (const folder of ['packages', 'tools', 'test', 'bench']) {
    for await (const file of sourceFiles(path.join(root, folder))) {
      files.set(path.relative(root, file).split(path.sep).join('/'), await readFile(file, 'utf8'))
    }
  }
  const folders = await readdir(path.join(root, 'packages'))
  const packages = folders.sort().map(async name => {
    const manifest = await readFile(path.join(root, 'packages', name, 'package.json'), 'utf8')
    return workspacePackage(`packages/${name}`, JSON.parse(manifest) as Manifest)
  })
  return { files, packages: await Promise.all(packages) }
}

/** What a manifest says about a package: its public names and what it depends on. */
export function workspacePackage(folder: string, manifest: Manifest): WorkspacePackage {
  const entries = Object.entries(manifest.exports ?? {}).map(([name, target]): [string, string] => {
    const file = typeof target === 'string' ? target : (Object.values(target)[0] ?? '')
    return [path.posix.join(manifest.name, name), path.posix.join(folder, file)]
  })
  return {
    name: manifest.name,
    folder,
    entries: new Map(entries),
    dependencies: new Set([
      ...Object.keys(manifest.dependencies ?? {}),
      ...Object.keys(manifest.optionalDependencies ?? {}),
      ...Object.keys(manifest.peerDependencies ?? {}),
    ]),
  }
}

async function* sourceFiles(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ifMissing)
  for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory() && !notSource.has(entry.name)) yield* sourceFiles(file)
    else if (entry.isFile() && sourceFile.test(entry.name)) yield file
  }
}

function ifMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return []
  throw error
}
