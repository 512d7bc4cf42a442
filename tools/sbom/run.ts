/** `npm run sbom [-- FILE]`: lists what is in the bundle and the image, as CycloneDX in `dist/lateen.cdx.json` or the file that is named. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { cachedBundle } from '../bundle/cached-bundle.ts'
import { sbomOf } from './sbom.ts'

const file = path.resolve(
  process.argv[2] ?? path.join(import.meta.dirname, '..', '..', 'dist', 'lateen.cdx.json'),
)
const sbom = await sbomOf(await cachedBundle(), new Date())
await mkdir(path.dirname(file), { recursive: true })
await writeFile(file, `${JSON.stringify(sbom, null, 2)}\n`)
console.log(`${path.relative(process.cwd(), file)}: ${sbom.components.length} components`)
