import { glob } from 'node:fs/promises'
import path from 'node:path'

/** Which test files a run wants. */
export interface TestSelection {
  /** Only files that need nothing but Node. */
  unit: boolean
  /** Keep the files whose path contains one of these; all files when empty. */
  only: string[]
}

const unitTests = [
  'packages/*/src/**/*.test.ts',
  'test/*.test.ts',
  'tools/**/*.test.ts',
  'bench/**/*.test.ts',
]
const realFolders = ['test/cluster/', 'test/compat/', 'test/security/']
const realTests = realFolders.map(folder => `${folder}**/*.test.ts`)

/** The selected test files, relative to the root, sorted: the slow ones, which need a cluster, come first. */
export async function findTests(root: string, { unit, only }: TestSelection): Promise<string[]> {
  const real = unit ? [] : await matching(root, realTests)
  const files = [...real, ...(await matching(root, unitTests))]
  return only.length === 0 ? files : files.filter(file => only.some(part => file.includes(part)))
}

/** Whether a test file belongs to those that need a cluster or foreign binaries. */
export function needsRealThings(file: string): boolean {
  return realFolders.some(folder => file.startsWith(folder))
}

async function matching(root: string, patterns: string[]): Promise<string[]> {
  const found: string[] = []
  for await (const file of glob(patterns, { cwd: root, exclude: name => name === 'node_modules' })) {
    found.push(file.split(path.sep).join('/'))
  }
  return [...new Set(found)].sort((a, b) => (a < b ? -1 : 1))
}
