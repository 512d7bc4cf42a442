import { cp, glob, mkdir } from 'node:fs/promises'
import path from 'node:path'

/**
 * What a running program loads of packages that bring a binary for each platform, as patterns below the workspace: they cannot be part of another file. The
 * program does without them, but restored files then have rounded times, and nobody waits until they are on the disk.
 */
const patterns = [
  'node_modules/koffi/{package.json,LICENSE.txt,index.cjs}',
  'node_modules/koffi/src/koffi/index.cjs',
  'node_modules/koffi/src/koffi/src/*.cjs',
  `node_modules/@koromix/koffi-${process.platform}-${process.arch}/{package.json,index.js}`,
  `node_modules/@koromix/koffi-${process.platform}-${process.arch}/${process.platform}_*/koffi.node`,
]

/** Copies those that are installed for this platform into `folder`, where a program in it looks for them, and resolves to their paths in both. */
export async function copyNativePackages(root: string, folder: string): Promise<string[]> {
  const files = (await Array.fromAsync(glob(patterns, { cwd: root }))).sort((a, b) => (a < b ? -1 : 1))
  for (const file of files) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true })
    await cp(path.join(root, file), path.join(folder, file), { dereference: true })
  }
  return files
}
