import { stat } from 'node:fs/promises'
import path from 'node:path'
import { packPlugin } from './pack-plugin.ts'

const [source, target] = process.argv.slice(2)
if (source === undefined) {
  console.error('Usage: npm run pack-plugin -- <file that calls servePlugin> [executable to write]')
  process.exit(2)
}
const executable = target ?? path.join('dist', 'plugins', path.basename(source, path.extname(source)))
await packPlugin({ source: path.resolve(source), target: path.resolve(executable) })
const { size } = await stat(executable)
console.log(`${executable}  ${Math.round(size / 1_000_000)} MB`)
