import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ImageError } from './image-error.ts'
import type { ImageFile } from './image-file.ts'
import type { Image } from './oci-image.ts'
import { sharedLibraries } from './shared-libraries.ts'

/** The name under which the workload image is imported. */
export const busyboxImageName = 'localhost/lateen-busybox:test'

export interface BusyboxOptions {
  /** The program on this machine. Debian's `busybox-static` puts it here. */
  busybox?: string
  name?: string
}

/** Waits until it is asked to stop: as the first process of a container, a plain `sleep` would not hear the request. */
const waitForEnd = 'trap exit TERM INT; while :; do sleep 3600 & wait $!; done'

/**
 * A workload image: a static busybox under all its names, users, `/tmp`. It waits when it is given no command, so it can hold a
 * pod's sandbox too. Throws ImageError `IMAGE_PROGRAM_UNUSABLE` when busybox is linked dynamically.
 */
export async function busyboxImage({
  busybox = '/bin/busybox',
  name = busyboxImageName,
}: BusyboxOptions = {}): Promise<Image> {
  const libraries = await sharedLibraries(busybox)
  if (libraries.length > 0) {
    throw new ImageError('IMAGE_PROGRAM_UNUSABLE', `${busybox} needs ${libraries.join(', ')}`, {
      hint: 'install the Debian package busybox-static',
    })
  }
  const { stdout } = await promisify(execFile)(busybox, ['--list'])
  const applets = stdout.split('\n').filter(applet => applet !== '' && applet !== 'busybox')
  const files: ImageFile[] = [
    { path: '/bin/busybox', from: busybox, mode: 0o755 },
    ...applets.map(applet => ({ path: `/bin/${applet}`, linkTo: 'busybox' })),
    {
      path: '/etc/passwd',
      content: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n',
    },
    { path: '/etc/group', content: 'root:x:0:\nnogroup:x:65534:\n' },
    { path: '/root', directory: true, mode: 0o700 },
    { path: '/tmp', directory: true, mode: 0o1777 },
  ]
  return { name, files, config: { command: ['/bin/sh', '-c', waitForEnd], env: { PATH: '/bin' } } }
}
