/** `node maintain-quickly.ts FOLDER PASSWORD-FILE`: quick maintenance, whether it is due or not, which the command has no flag for. */
import { readFileSync } from 'node:fs'
import { openFilesystemStorage, openRepository } from '@lateen/repo'
import { runMaintenance } from '../../packages/repo/src/maintenance/run.ts'

const [folder = '', passwordFile = ''] = process.argv.slice(2)
const storage = await openFilesystemStorage({ path: folder })
await using repository = await openRepository({ storage, password: readFileSync(passwordFile, 'utf8') })
await runMaintenance(repository, { mode: 'quick', identity: 'default@default' })
