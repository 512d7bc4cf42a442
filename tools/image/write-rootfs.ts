import { chmod, copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { planLayer } from './image-file.ts'
import type { Image } from './oci-image.ts'

/**
 * Writes the files of an image into `folder`, which is replaced, as the root of a container would show them: for `COPY` in a Dockerfile, or
 * to look inside. Owners are those of whoever runs it.
 */
export async function writeRootfs(image: Image, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  // Sorted, so that a folder comes before what is in it.
  for (const { entry, bytes } of await planLayer(image.files)) {
    const target = path.join(folder, entry.path)
    if (entry.type === 'symlink') {
      await symlink(entry.linkTo ?? '', target)
      continue
    }
    if (entry.type === 'directory') await mkdir(target)
    else if ('from' in bytes) await copyFile(bytes.from, target)
    else await writeFile(target, bytes.content)
    // The umask takes away from what the calls above are told.
    await chmod(target, entry.mode)
  }
}
