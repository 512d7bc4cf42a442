/** `npm run image -- busybox|lateen ARCHIVE`: writes an image archive, ready for `npm run cluster -- load ARCHIVE`. */
import { existsSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { bundleLateen } from '../bundle/bundle.ts'
import { busyboxImage } from './busybox-image.ts'
import { lateenImage } from './lateen-image.ts'
import { type Image, writeImageArchive } from './oci-image.ts'

const authorities = '/etc/ssl/certs/ca-certificates.crt'
const [kind, target] = process.argv.slice(2)

if ((kind !== 'busybox' && kind !== 'lateen') || target === undefined) {
  console.error('npm run image -- busybox|lateen ARCHIVE')
  process.exitCode = 1
} else {
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-bundle-'))
  const image =
    kind === 'busybox' ? await busyboxImage() : await bundledImage(path.join(folder.path, 'bundle'))
  const digest = await writeImageArchive(image, target)
  console.log(`${target}: ${image.name}@${digest}`)
}

async function bundledImage(folder: string): Promise<Image> {
  const bundle = await bundleLateen(folder)
  return await lateenImage({
    bundle,
    ...(existsSync(authorities) ? { certificateAuthorities: authorities } : {}),
  })
}
