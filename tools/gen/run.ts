import { join } from 'node:path'
import { findDifferences, writeGenerated } from './generated-files.ts'
import { generators } from './generators.ts'

const root = join(import.meta.dirname, '..', '..')
const check = process.argv.includes('--check')

const differences = check ? await findDifferences(root, generators) : await writeGenerated(root, generators)
for (const { path, reason } of differences) console.log(`${reason.padEnd(9)} ${path}`)
if (check && differences.length > 0) {
  console.error('Generated files are out of date; run npm run gen.')
  process.exitCode = 1
} else {
  console.log(check ? 'Generated files are up to date.' : `${differences.length} file(s) changed.`)
}
