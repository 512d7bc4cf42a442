import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { systemClock } from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'
import { FilesystemStore } from '../../packages/server/src/object-store/filesystem.ts'
import { createSignedDownloads } from '../../packages/server/src/object-store/signed-downloads.ts'

// Runs in a mount namespace of its own, in which the folder given is a file system of 2 MiB, and prints what it saw.
const MiB = 1024 * 1024
const root = process.argv[2] ?? ''
const config = { path: root, bucket: 'b' }
const downloads = createSignedDownloads({
  signingKey: randomBytes(32),
  clock: systemClock,
  publicUrl: () => '',
})

function newStore(): FilesystemStore {
  return new FilesystemStore({
    clock: systemClock,
    downloads,
    randomName: () => randomBytes(8).toString('hex'),
  })
}

async function failureOf(
  action: () => Promise<unknown>,
): Promise<{ code: string; message: string } | undefined> {
  try {
    await action()
    return undefined
  } catch (error) {
    if (!isObjectStoreError(error)) throw error
    return { code: error.code, message: error.message }
  }
}

await mkdir(path.join(root, 'b'))
const store = newStore()
await store.init({ config })
const old = randomBytes(MiB)
const put = (body: Uint8Array) => store.putObject({ bucket: 'b', key: 'dir/object', body })
await put(old)
const full = await failureOf(() => put(randomBytes(2 * MiB)))
const kept = (await buffer(await store.getObject({ bucket: 'b', key: 'dir/object' }))).equals(old)
const leftovers = await readdir(path.join(root, 'b', 'metadata', '.lateen-incoming'))
await put(Buffer.from('small'))
const afterwards = (await buffer(await store.getObject({ bucket: 'b', key: 'dir/object' }))).toString()

execFileSync('mount', ['-o', 'remount,ro', root])
const readOnly = {
  put: await failureOf(() => put(Buffer.from('x'))),
  remove: await failureOf(() => store.deleteObject({ bucket: 'b', key: 'dir/object' })),
  init: await failureOf(() => newStore().init({ config })),
  initForReading: await failureOf(() => newStore().init({ config, accessMode: 'ReadOnly' })),
}
console.log(JSON.stringify({ full, kept, leftovers, afterwards, readOnly }))
