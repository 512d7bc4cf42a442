/** Changes, truncates, renames, removes and makes files of a folder until it is killed; says `begin` first. */
import { appendFileSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { seededRandom } from '../../tools/test/seeded-random.ts'

const [folder = '', seed = '1'] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const name = () => path.join(folder, `d${random.integer(0, 5)}`, `f${random.integer(0, 20)}`)

const changes: (() => void)[] = [
  () => appendFileSync(name(), random.bytes(random.integer(1, 50_000))),
  () => writeFileSync(name(), random.bytes(random.integer(0, 50_000))),
  () => truncateSync(name(), random.integer(0, 10_000)),
  () => renameSync(name(), name()),
  () => rmSync(name()),
  () => rmSync(path.dirname(name()), { recursive: true }),
  () => mkdirSync(path.dirname(name()), { recursive: true }),
  () => mkdirSync(path.dirname(name()), { recursive: true }),
]

process.stdout.write('begin\n')
for (;;) {
  try {
    random.pick(changes)()
  } catch (error) {
    // What is not there, or no longer, cannot be changed.
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}
