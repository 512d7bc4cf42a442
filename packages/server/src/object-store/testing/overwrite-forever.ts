import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { FilesystemStore } from '../filesystem.ts'
import { createSignedDownloads } from '../signed-downloads.ts'

// Overwrites and deletes a few objects until it is killed. Each object begins with the SHA-256 of its rest.
const [path = '', seed = '0'] = process.argv.slice(2)
const clock = { now: () => Date.now(), sleep: (ms: number) => sleep(ms) }
const downloads = createSignedDownloads({ signingKey: randomBytes(32), clock, publicUrl: () => '' })
const store = new FilesystemStore({ clock, downloads, randomName: () => randomBytes(8).toString('hex') })
await store.init({ config: { path, bucket: 'b' } })

async function* version(size: number): AsyncGenerator<Uint8Array> {
  const content = randomBytes(size)
  yield createHash('sha256').update(content).digest()
  for (let start = 0; start < size; start += 8192) yield content.subarray(start, start + 8192)
}

for (let round = Number(seed); ; round++) {
  await store.putObject({
    bucket: 'b',
    key: 'backups/kept/object',
    body: version(1 + ((round * 7919) % 200_000)),
  })
  if (round === Number(seed)) process.stdout.write('first object stored\n')
  await store.putObject({
    bucket: 'b',
    key: `backups/${round % 3}/deep/object`,
    body: version(round % 50_000),
  })
  await store.deleteObject({ bucket: 'b', key: `backups/${(round + 1) % 3}/deep/object` })
}
