import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

/** Files by their path from the root of the repository. */
export type GeneratedFiles = ReadonlyMap<string, string>

/** Something that writes files from sources in the tree. */
export interface Generator {
  readonly name: string
  /** Folders that hold nothing but what this generator writes; anything else in them is a leftover. */
  readonly owns: readonly string[]
  generate(): GeneratedFiles | Promise<GeneratedFiles>
}

/** A file in the tree that is not what its generator says. */
export interface Difference {
  readonly path: string
  readonly reason: 'missing' | 'different' | 'leftover'
}

/** Compares the tree with what the generators say, and changes nothing. */
export async function findDifferences(root: string, generators: readonly Generator[]): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const generator of generators) {
    const wanted = await generator.generate()
    for (const [path, content] of wanted) {
      const given = await readIfPresent(join(root, path))
      if (given !== content) differences.push({ path, reason: given === undefined ? 'missing' : 'different' })
    }
    for (const path of await filesUnder(root, generator.owns)) {
      if (!wanted.has(path)) differences.push({ path, reason: 'leftover' })
    }
  }
  return differences
}

/** Writes what the generators say and deletes leftovers. Resolves to what was changed. */
export async function writeGenerated(root: string, generators: readonly Generator[]): Promise<Difference[]> {
  const differences = await findDifferences(root, generators)
  const changed = new Map(differences.map(difference => [difference.path, difference.reason]))
  for (const generator of generators) {
    for (const [path, content] of await generator.generate()) {
      if (!changed.has(path)) continue
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
    }
  }
  for (const [path, reason] of changed) if (reason === 'leftover') await rm(join(root, path))
  return differences
}

async function filesUnder(root: string, folders: readonly string[]): Promise<string[]> {
  const paths: string[] = []
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(
      whenMissing([]),
    )
    for (const entry of entries) {
      if (entry.isFile()) paths.push(relative(root, join(entry.parentPath, entry.name)))
    }
  }
  return paths
}

function readIfPresent(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(whenMissing(undefined))
}

function whenMissing<T>(value: T): (error: unknown) => T {
  return error => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return value
    throw error
  }
}
