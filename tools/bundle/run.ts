/** `npm run bundle [-- FOLDER]`: the program in `dist`, for the Dockerfile and for anyone who wants one folder to copy. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { bundleLateen } from './bundle.ts'

const folder = process.argv[2]
const { entry, files } = await bundleLateen(...(folder === undefined ? [] : [path.resolve(folder)]))
const sizes = await Promise.all(files.map(async ({ from }) => (await stat(from)).size))
const mebibytes = sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20
const entryFile = files.find(file => file.path === entry)?.from ?? entry
console.log(`${path.relative(process.cwd(), entryFile)}: ${files.length} files, ${mebibytes.toFixed(1)} MiB`)
