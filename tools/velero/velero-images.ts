import { realpath } from 'node:fs/promises'
import { catalogue, type ToolName } from '../binaries/catalogue.ts'
import { tool, tools } from '../binaries/tool.ts'
import { ImageError } from '../image/image-error.ts'
import type { ImageFile } from '../image/image-file.ts'
import type { Image } from '../image/oci-image.ts'
import { sharedLibraries } from '../image/shared-libraries.ts'

/** The name under which the image of a real Velero is imported. A tag other than `latest`, so that nobody looks for it in a registry. */
export const veleroImageName = `localhost/velero:${catalogue.velero.version}`

/** The name under which the image of velero-plugin-for-aws is imported. */
export const awsPluginImageName = `localhost/velero-plugin-for-aws:${catalogue['velero-plugin-for-aws'].version}`

/**
 * The image of a real Velero, for its server, its node agent, and pods that wait for their volumes: `/velero`, `/velero-restore-helper`, and what
 * they take for granted around them, as in the one its makers publish. Throws ToolError where there is no Velero, and ImageError
 * `IMAGE_PROGRAM_UNUSABLE` when a program is linked dynamically.
 */
export async function veleroImage(): Promise<Image> {
  return {
    name: veleroImageName,
    files: [
      await program('velero', '/velero'),
      await program('velero-restore-helper', '/velero-restore-helper'),
      ...surroundings(),
    ],
    config: { env: { PATH: '/', HOME: '/home/cnb' }, user: 'cnb:cnb', workdir: '/' },
  }
}

/**
 * The image of velero-plugin-for-aws: an init container that puts the program into `/target` and ends. Throws as `veleroImage` does.
 */
export async function awsPluginImage(): Promise<Image> {
  const name = 'velero-plugin-for-aws'
  return {
    name: awsPluginImageName,
    files: [
      await program(name, `/plugins/${name}`),
      { path: '/bin/cp', from: await realpath(await tool('busybox')), mode: 0o755 },
    ],
    config: { entrypoint: ['/bin/cp', `/plugins/${name}`, `/target/${name}`], user: '65532:65532' },
  }
}

/** Both images of an installation of Velero that keeps its backups in S3. Throws as `veleroImage` does. */
export async function veleroImages(): Promise<Image[]> {
  await tools(['velero', 'velero-restore-helper', 'velero-plugin-for-aws', 'busybox'])
  return [await veleroImage(), await awsPluginImage()]
}

async function program(name: ToolName, at: string): Promise<ImageFile> {
  const from = await tool(name)
  const libraries = await sharedLibraries(from)
  if (libraries.length > 0) {
    throw new ImageError('IMAGE_PROGRAM_UNUSABLE', `${name} needs ${libraries.join(', ')}`, {
      hint: 'build it with CGO_ENABLED=0',
    })
  }
  return { path: at, from, mode: 0o755 }
}

/** Velero's image names its user: a pod that demands another than root must say by number which one. */
function surroundings(): ImageFile[] {
  const nobody = '/sbin/nologin\n'
  return [
    {
      path: '/etc/passwd',
      content: `root:x:0:0:root:/root:${nobody}cnb:x:1002:1000:cnb:/home/cnb:${nobody}`,
    },
    { path: '/etc/group', content: 'root:x:0:\ncnb:x:1000:\n' },
    { path: '/home/cnb', directory: true, mode: 0o777 },
    { path: '/tmp', directory: true, mode: 0o1777 },
  ]
}
