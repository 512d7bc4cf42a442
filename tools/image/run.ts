/**
 * `npm run image -- busybox|lateen ARCHIVE` writes an image archive, ready for `npm run cluster -- load ARCHIVE`; `npm run image -- rootfs FOLDER`
 * writes the files of Lateen's image, for `deploy/Dockerfile`. Both tell sizes, and how long the program takes to start.
 */
import path from 'node:path'
import { cachedBundle } from '../bundle/cached-bundle.ts'
import { busyboxImage } from './busybox-image.ts'
import { lateenImage } from './lateen-image.ts'
import { measureImage } from './measure-image.ts'
import { type Image, writeImageArchive } from './oci-image.ts'
import { writeRootfs } from './write-rootfs.ts'

const makers: Record<string, (target: string) => Promise<Image>> = {
  busybox: async target => archive(await busyboxImage(), target),
  lateen: async target => archive(await lateenImage({ bundle: await cachedBundle() }), target),
  rootfs: async target => {
    const image = await lateenImage({ bundle: await cachedBundle() })
    await writeRootfs(image, target)
    console.log(`${target}: the files of ${image.name}`)
    return image
  },
}

async function archive(image: Image, target: string): Promise<Image> {
  console.log(`${target}: ${image.name}@${await writeImageArchive(image, target)}`)
  return image
}

const [kind = '', target] = process.argv.slice(2)
const make = makers[kind]
if (make === undefined || target === undefined) {
  console.error('npm run image -- busybox|lateen ARCHIVE\nnpm run image -- rootfs FOLDER')
  process.exitCode = 1
} else {
  const image = await make(path.resolve(target))
  if (kind !== 'busybox') for (const line of await measureImage(image)) console.log(`  ${line}`)
}
