import { mkdirSync, writeFileSync, mkdtempSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { openFilesystemStorage } from '../../packages/repo/src/blob/filesystem.ts'
import { openRepository } from '../../packages/repo/src/repository.ts'
import { uploadTree } from '../../packages/repo/src/snapshot/upload-tree.ts'
import { seededRandom } from '../../tools/test/seeded-random.ts'
import { kopiaRepository } from './kopia.ts'
it('x', async t => {
  const tree = mkdtempSync('/tmp/r5-adhoc-')
  const random = seededRandom(Number(process.env.SEED ?? 7))
  const pick = (choices: readonly string[]) => choices[random.integer(0, choices.length - 1)] ?? ''
  const letters = ['a', 'b', 'c', 'ab', 'bc', 'abc', 'a.b', '7', 'A', '-', '!', 'é', '😀', ' ', '[', ']', '*']
  const parts = ['a', 'b', 'c', '*', '**', '?', '[ab]', '[!a]', '[a-b]', '.', '/', '/', '7', '[[:digit:]]', '***', '[[:alpha:]b]', '[a-]', '[]a]', '\\*', '\\[', 'é', '😀', '[^a]', '!', ' ', '[[:upper:]-z]', '[😀-😁]', '**/', '/**', '#', '[[:punct:]]', '[[:space:]]', '[!]']
  for (let folder = 0; folder < 1200; folder++) {
    const root = path.join(tree, `case-${folder}`)
    mkdirSync(root)
    for (let file = 0; file < 14; file++) {
      const name = Array.from({ length: random.integer(1, 3) }, () => pick(letters) + (random.integer(0, 2) === 0 ? pick(letters) : '')).join('/')
      try {
        mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
        writeFileSync(path.join(root, name), name)
      } catch {}
    }
    const rule = () => `${pick(['', '', '!', '/', ' '])}${Array.from({ length: random.integer(1, 6) }, () => pick(parts)).join('')}${pick(['', '', '', '/', ' '])}`
    writeFileSync(path.join(root, '.kopiaignore'), Array.from({ length: random.integer(1, 3) }, rule).join('\n'))
  }
  const kopia = await kopiaRepository(t)
  const id = await kopia.snapshot(tree).catch(e => String(e))
  console.log('kopia', id.slice(0, 600))
  const list = await kopia.json<any[]>(['snapshot', 'list', '--all'])
  console.log(JSON.stringify(list[0]?.rootEntry.summ).slice(0, 3000))
  await using repository = await openRepository({ storage: await openFilesystemStorage({ path: kopia.path }), password: kopia.password })
  const ours = await repository.writing({}, w => uploadTree(w, tree, { source: { host: 'h', userName: 'u', path: '/x' } }))
  console.log(JSON.stringify(ours.snapshot.rootEntry.summary, (k, v) => typeof v === 'bigint' ? String(v) : v).slice(0, 3000))
  console.log('same', ours.snapshot.rootEntry.obj === list[0]?.rootEntry.obj)
  if (ours.snapshot.rootEntry.obj !== list[0]?.rootEntry.obj) {
     console.log(await kopia.kopia(['diff', list[0].rootEntry.obj, ours.snapshot.rootEntry.obj]).catch(e => String(e)).then(s => s.slice(0, 3000)))
  }
  console.log(tree)
})
